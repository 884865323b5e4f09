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

// check judges every field through which kustomize loads anything, and spells the paths in them plainly.
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
	k.once(v.Resources, "resources")
	k.once(v.Components, "components")
	k.patches()
	k.labels()
	return k.total
}

// once refuses what is named a second time: kustomize would make the same objects again.
func (k *kustomization) once(entries []string, field string) {
	for i, entry := range entries {
		if slices.Contains(entries[:i], entry) {
			k.refuse(quote(entry)+" is listed twice", "name it once", field, strconv.Itoa(i))
		}
	}
}

// resource is a file of objects, or a directory with a Kustomization.
func (k *kustomization) resource(entry *string, keys ...string) {
	name, dir, ok := k.find(entry, keys)
	switch {
	case !ok:
	case dir:
		k.total.add(k.gate.walk(name, types.KustomizationKind, k.at(keys...)))
	default:
		k.load(name, true, keys)
		k.total.add(cost{objects: k.gate.seen[name]})
	}
}

func (k *kustomization) directory(entry *string, kind string, keys ...string) {
	name, dir, ok := k.find(entry, keys)
	switch {
	case !ok:
	case !dir:
		k.refuse(name+" is a file, and a directory is expected here", "", keys...)
	default:
		k.total.add(k.gate.walk(name, kind, k.at(keys...)))
		if kind == types.ComponentKind {
			k.note(func(l *links) { l.components = append(l.components, name) })
		}
	}
}

func (k *kustomization) note(what func(*links)) {
	l := k.gate.links[k.dir]
	what(&l)
	k.gate.links[k.dir] = l
}

// yaml is a file of YAML.
func (k *kustomization) yaml(entry *string, keys ...string) { k.regular(entry, true, keys) }

// regular is a file. It must not lie outside the directory of its kustomization, as kustomize has it.
func (k *kustomization) regular(entry *string, isYAML bool, keys []string) {
	name, dir, ok := k.find(entry, keys)
	switch {
	case !ok:
	case dir:
		k.refuse(name+" is a directory, and a file is expected here", "", keys...)
	default:
		k.load(name, isYAML, keys)
	}
}

// find judges an entry as a path, spells it plainly, and gives the path in the tree that it leads to.
func (k *kustomization) find(entry *string, keys []string) (name string, dir, ok bool) {
	spelled, f := plain(*entry)
	if f != nil {
		k.refuse(quote(*entry)+" "+f.message, f.hint, keys...)
		return "", false, false
	}
	*entry = spelled
	at := k.at(keys...)
	name, ok = k.gate.resolve(at, k.dir, spelled)
	if !ok || name == "." {
		return name, true, ok
	}
	e, _ := k.gate.entry(path.Dir(name), path.Base(name))
	return name, e.IsDir(), true
}

// load makes a file part of the job.
func (k *kustomization) load(name string, isYAML bool, keys []string) {
	g := k.gate
	switch {
	case slices.Contains(kustomizationNames(), path.Base(name)):
		k.refuse(name+" is itself a kustomization", "name its directory, under resources", keys...)
		return
	case !below(k.dir, name):
		k.refuse(name+" is outside the directory of this kustomization",
			"move it, or make a kustomization of its directory and name that under resources", keys...)
		return
	}
	data, known := g.files[name]
	if !known {
		var ok bool
		if data, ok = g.content(name, k.at(keys...)); !ok {
			return
		}
		g.keep(name, data)
	}
	if _, judged := g.seen[name]; isYAML && !judged {
		found, problems := g.documents(name, data)
		g.problems = append(g.problems, problems...)
		g.seen[name] = objectsIn(found)
	}
	k.total.add(cost{files: 1, bytes: int64(len(data))})
}

// sources are the files that a generator makes entries of. Literals load nothing.
func (k *kustomization) sources(s *types.KvPairSources, keys ...string) {
	for i := range s.FileSources {
		at := append(slices.Clip(keys), "files", strconv.Itoa(i))
		key, file, named := strings.Cut(s.FileSources[i], "=")
		if !named {
			k.regular(&s.FileSources[i], false, at)
			continue
		}
		if key == "" || strings.Contains(file, "=") {
			k.refuse(quote(s.FileSources[i])+" is neither a path nor key=path", "", at...)
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

// patches judges the three fields of patches.
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
		if v.PatchesJson6902[i].Target == nil && !k.strict() {
			k.refuse("a target is missing", "", "patchesJson6902", strconv.Itoa(i))
		}
	}
}

func (k *kustomization) strategicEntry(entry *types.PatchStrategicMerge, index string) {
	const field = "patchesStrategicMerge"
	if k.strict() {
		k.refuse("a target is missing", "write it under patches, with a target that has a kind or a name", field, index)
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

// patch is a text or a file, and what it is for.
func (k *kustomization) patch(p *types.Patch, keys ...string) {
	written := strings.TrimSpace(p.Patch) != ""
	switch {
	case written == (p.Path != ""):
		k.refuse("a patch needs either path or patch", "", keys...)
	case written:
		k.text(p.Patch, append(slices.Clip(keys), "patch")...)
	default:
		k.yaml(&p.Path, append(slices.Clip(keys), "path")...)
	}
	if err := k.target(p); err != nil {
		k.refuse(err.Error(), "", append(slices.Clip(keys), "target")...)
	} else if k.strict() {
		k.note(func(l *links) { l.patches = append(l.patches, patch{At: k.at(keys...), Target: *p.Target}) })
	}
}

// target judges whether a patch says what it is for.
func (k *kustomization) target(p *types.Patch) error {
	if p.Target != nil {
		if _, err := types.NewSelectorRegex(p.Target); err != nil {
			return err
		}
	}
	if !k.strict() {
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

// mapping is an entry that is a path or a patch, and has letters that no path has.
func (k *kustomization) mapping(text string, keys ...string) {
	found, problems := k.gate.documents(k.file, []byte(text))
	isPatch := len(problems) == 0 && len(found) > 0 && !slices.ContainsFunc(found, func(n *yaml.Node) bool { return n.Kind != yaml.MappingNode })
	switch _, f := plain(text); {
	case isPatch:
	case f != nil && !strings.ContainsAny(strings.TrimSpace(text), "\n{"):
		k.refuse(quote(text)+" "+f.message, f.hint, keys...)
	default:
		k.text(text, keys...)
		if len(problems) == 0 {
			k.refuse("is neither a path nor a patch", "write a mapping, or the path of a file with one", keys...)
		}
	}
}

// text is a patch that stands in the kustomization itself: positions in it would mislead.
func (k *kustomization) text(text string, keys ...string) {
	_, problems := k.gate.documents(k.file, []byte(text))
	for _, p := range problems {
		k.refuse(p.Message, p.Hint, keys...)
	}
}

// labels of an overlay stay out of selectors and out of fields of the user's choice.
func (k *kustomization) labels() {
	if !k.strict() {
		return
	}
	for i, l := range k.value.Labels {
		switch index := strconv.Itoa(i); {
		case l.IncludeSelectors:
			k.refuse("it changes selectors", "remove it; includeTemplates is allowed", "labels", index, "includeSelectors")
		case len(l.FieldSpecs) > 0:
			k.refuse("is not allowed here", "for other fields, write a patch", "labels", index, "fields")
		}
	}
}
