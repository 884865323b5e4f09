package testbed

// HandMadeController is what the multicluster chart renders for an entry in `controllers`, as YAML documents in which TARGET is the name of
// the target.
func HandMadeController() string { return handMade("byhand-controller.yaml") }

// HandMadeLink is what `linkerd multicluster link-gen` prints, as YAML documents in which TARGET is the name of the target, and KUBECONFIG
// the credential in base64.
func HandMadeLink() string { return handMade("byhand-link.yaml") }

func handMade(name string) string {
	text, err := manifests.ReadFile("manifests/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}
