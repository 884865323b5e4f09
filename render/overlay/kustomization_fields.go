package overlay

import (
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
)

// check validates every field through which kustomize loads anything, and normalizes the paths in them.
func (k *kustomization) check() cost {
	v := &k.value
	for i := range v.Resources {
		k.resource(&v.Resources[i], "resources", strconv.Itoa(i))
	}
	for i := range v.Bases {
		k.directory(&v.Bases[i], types.KustomizationKind, "bases", strconv.Itoa(i))
	}
	for i := range v.Components {
		k.directory(&v.Components[i], types.ComponentKind, "components", strconv.Itoa(i))
	}
	for i := range v.Crds {
		k.yaml(&v.Crds[i], "crds", strconv.Itoa(i))
	}
	for i := range v.Configurations {
		k.yaml(&v.Configurations[i], "configurations", strconv.Itoa(i))
	}
	for i := range v.Replacements {
		if v.Replacements[i].Path != "" {
			k.yaml(&v.Replacements[i].Path, "replacements", strconv.Itoa(i), "path")
		}
	}
	for i := range v.ConfigMapGenerator {
		k.sources(&v.ConfigMapGenerator[i].KvPairSources, "configMapGenerator", strconv.Itoa(i))
	}
	k.checkDuplicates(v.Resources, "resources")
	k.checkDuplicates(v.Components, "components")
	k.patches()
	k.labels()
	return k.total
}

// checkDuplicates fails duplicate entries: kustomize would build the same objects twice.
func (k *kustomization) checkDuplicates(entries []string, field string) {
	for i, entry := range entries {
		if slices.Contains(entries[:i], entry) {
			k.fail(quote(entry)+" is listed twice", "name it once", field, strconv.Itoa(i))
		}
	}
}

// resource validates an entry that is a file of objects or a directory with a Kustomization.
func (k *kustomization) resource(entry *string, keys ...string) {
	name, dir, ok := k.resolvePath(entry, keys)
	switch {
	case !ok:
	case dir:
		k.total.add(k.validator.walk(name, types.KustomizationKind, k.at(keys...)))
	default:
		k.load(name, true, keys)
		k.total.add(cost{objects: k.validator.counted[name]})
	}
}

func (k *kustomization) directory(entry *string, kind string, keys ...string) {
	name, dir, ok := k.resolvePath(entry, keys)
	switch {
	case !ok:
	case !dir:
		k.fail(name+" is a file, and a directory is expected here", "", keys...)
	default:
		k.total.add(k.validator.walk(name, kind, k.at(keys...)))
		if kind == types.ComponentKind {
			k.addLinks(func(l *componentLinks) { l.components = append(l.components, name) })
		}
	}
}

func (k *kustomization) addLinks(what func(*componentLinks)) {
	l := k.validator.links[k.dir]
	what(&l)
	k.validator.links[k.dir] = l
}

// yaml validates an entry that is a YAML file.
func (k *kustomization) yaml(entry *string, keys ...string) { k.regular(entry, true, keys) }

// regular validates an entry that is a file. As in kustomize, it must not be outside the directory of its kustomization.
func (k *kustomization) regular(entry *string, isYAML bool, keys []string) {
	name, dir, ok := k.resolvePath(entry, keys)
	switch {
	case !ok:
	case dir:
		k.fail(name+" is a directory, and a file is expected here", "", keys...)
	default:
		k.load(name, isYAML, keys)
	}
}

// resolvePath validates and normalizes an entry as a path, and returns the path in the tree that it leads to.
func (k *kustomization) resolvePath(entry *string, keys []string) (name string, dir, ok bool) {
	spelled, f := normalize(*entry)
	if f != nil {
		k.fail(quote(*entry)+" "+f.message, f.hint, keys...)
		return "", false, false
	}
	*entry = spelled
	at := k.at(keys...)
	name, ok = k.validator.resolve(at, k.dir, spelled)
	if !ok || name == "." {
		return name, true, ok
	}
	e, _ := k.validator.entry(path.Dir(name), path.Base(name))
	return name, e.IsDir(), true
}

// load adds a file to the job.
func (k *kustomization) load(name string, isYAML bool, keys []string) {
	g := k.validator
	switch {
	case slices.Contains(kustomizationNames(), path.Base(name)):
		k.fail(name+" is itself a kustomization", "name its directory, under resources", keys...)
		return
	case !isWithin(k.dir, name):
		k.fail(name+" is outside the directory of this kustomization",
			"move it, or make a kustomization of its directory and name that under resources", keys...)
		return
	}
	data, known := g.files[name]
	if !known {
		var ok bool
		if data, ok = g.readFile(name, k.at(keys...)); !ok {
			return
		}
		g.add(name, data)
	}
	if _, judged := g.counted[name]; isYAML && !judged {
		found, problems := g.documents(name, data)
		g.problems = append(g.problems, problems...)
		g.counted[name] = objectsIn(found)
	}
	k.total.add(cost{files: 1, bytes: int64(len(data))})
}

// sources validates the files of a generator. Literals load nothing.
func (k *kustomization) sources(s *types.KvPairSources, keys ...string) {
	for i := range s.FileSources {
		at := append(slices.Clip(keys), "files", strconv.Itoa(i))
		key, file, named := strings.Cut(s.FileSources[i], "=")
		if !named {
			k.regular(&s.FileSources[i], false, at)
			continue
		}
		if key == "" || strings.Contains(file, "=") {
			k.fail(quote(s.FileSources[i])+" is neither a path nor key=path", "", at...)
			continue
		}
		k.regular(&file, false, at)
		s.FileSources[i] = key + "=" + file
	}
	for i := range s.EnvSources {
		k.regular(&s.EnvSources[i], false, append(slices.Clip(keys), "envs", strconv.Itoa(i)))
	}
	if s.EnvSource != "" {
		k.regular(&s.EnvSource, false, append(slices.Clip(keys), "env"))
	}
}

// patches validates the three fields of patches.
func (k *kustomization) patches() {
	v := &k.value
	for i := range v.PatchesStrategicMerge {
		k.strategicEntry(&v.PatchesStrategicMerge[i], strconv.Itoa(i))
	}
	for i := range v.Patches {
		k.patch(&v.Patches[i], "patches", strconv.Itoa(i))
	}
	for i := range v.PatchesJson6902 {
		k.patch(&v.PatchesJson6902[i], "patchesJson6902", strconv.Itoa(i))
		if v.PatchesJson6902[i].Target == nil && !k.inOverlay() {
			k.fail("a target is missing", "", "patchesJson6902", strconv.Itoa(i))
		}
	}
}

func (k *kustomization) strategicEntry(entry *types.PatchStrategicMerge, index string) {
	const field = "patchesStrategicMerge"
	if k.inOverlay() {
		k.fail("a target is missing", "write it under patches, with a target that has a kind or a name", field, index)
		return
	}
	text := string(*entry)
	if inline(text) {
		k.mapping(text, field, index)
		return
	}
	k.yaml(&text, field, index)
	*entry = types.PatchStrategicMerge(text)
}

// patch validates a patch, which is inline or a file, and its target.
func (k *kustomization) patch(p *types.Patch, keys ...string) {
	written := strings.TrimSpace(p.Patch) != ""
	switch {
	case written == (p.Path != ""):
		k.fail("a patch needs either path or patch", "", keys...)
	case written:
		k.text(p.Patch, append(slices.Clip(keys), "patch")...)
	default:
		k.yaml(&p.Path, append(slices.Clip(keys), "path")...)
	}
	if err := k.target(p); err != nil {
		k.fail(err.Error(), "", append(slices.Clip(keys), "target")...)
	} else if k.inOverlay() {
		k.addLinks(func(l *componentLinks) { l.patches = append(l.patches, patch{At: k.at(keys...), Target: *p.Target}) })
	}
}

// target validates the target of a patch.
func (k *kustomization) target(p *types.Patch) error {
	if p.Target != nil {
		if _, err := types.NewSelectorRegex(p.Target); err != nil {
			return err
		}
	}
	if !k.inOverlay() {
		return nil
	}
	switch {
	case p.Target == nil, p.Target.Kind == "" && p.Target.Name == "":
		return errors.New("a patch of an overlay needs a target with a kind or a name")
	case p.Options != nil && (p.Options.AllowNameChange || p.Options.AllowKindChange):
		return errors.New("an overlay must not change names or kinds: remove options")
	}
	return nil
}

// mapping validates an inline patch in a list of paths and patches.
func (k *kustomization) mapping(text string, keys ...string) {
	found, problems := k.validator.documents(k.file, []byte(text))
	isPatch := len(problems) == 0 && len(found) > 0 && !slices.ContainsFunc(found, func(n *yaml.Node) bool { return n.Kind != yaml.MappingNode })
	switch _, f := normalize(text); {
	case isPatch:
	case f != nil && !strings.ContainsAny(strings.TrimSpace(text), "\n{"):
		k.fail(quote(text)+" "+f.message, f.hint, keys...)
	default:
		k.text(text, keys...)
		if len(problems) == 0 {
			k.fail("is neither a path nor a patch", "write a mapping, or the path of a file with one", keys...)
		}
	}
}

// text validates an inline patch; positions in it would be wrong.
func (k *kustomization) text(text string, keys ...string) {
	_, problems := k.validator.documents(k.file, []byte(text))
	for _, p := range problems {
		k.fail(p.Message, p.Hint, keys...)
	}
}

// labels fails labels of an overlay that change selectors or other fields.
func (k *kustomization) labels() {
	if !k.inOverlay() {
		return
	}
	for i, l := range k.value.Labels {
		switch index := strconv.Itoa(i); {
		case l.IncludeSelectors:
			k.fail("it changes selectors", "remove it; includeTemplates is allowed", "labels", index, "includeSelectors")
		case len(l.FieldSpecs) > 0:
			k.fail("is not allowed here", "for other fields, write a patch", "labels", index, "fields")
		}
	}
}
