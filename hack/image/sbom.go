package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
)

const (
	license     = "Apache-2.0"
	noAssertion = "NOASSERTION"
	// sbomType is the media type of SPDX in JSON, as IANA has it.
	sbomType = "application/spdx+json"
)

// SBOM returns the software bill of materials of a program, as SPDX 2.3 in JSON: the modules that Go recorded in it, with their checksums, and
// Go's standard library. The licenses of modules are not looked up.
func SBOM(p Program) ([]byte, error) {
	program, err := os.ReadFile(p.Path)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(program)
	root := module(&p.Info.Main)
	root.PackageLicenseDeclared = license
	root.PrimaryPackagePurpose = "APPLICATION"
	root.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: hex.EncodeToString(sum[:])}}
	doc := &v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName:      fmt.Sprintf("linkwright %s %s", p.Info.Main.Version, p.Platform),
		DocumentNamespace: fmt.Sprintf("https://%s/sbom/%x", p.Info.Main.Path, sum),
		CreationInfo: &v2_3.CreationInfo{
			Created: p.Time.Format(time.RFC3339), Creators: []common.Creator{{CreatorType: "Tool", Creator: "linkwright-hack-image"}},
		},
		Packages:      []*v2_3.Package{root},
		Relationships: []*v2_3.Relationship{related("DOCUMENT", common.TypeRelationshipDescribe, root.PackageSPDXIdentifier)},
	}
	standard := &debug.Module{Path: "stdlib", Version: strings.TrimPrefix(p.Info.GoVersion, "go")}
	for _, m := range append([]*debug.Module{standard}, p.Info.Deps...) {
		if m.Replace != nil {
			m = m.Replace
		}
		dependency := module(m)
		doc.Packages = append(doc.Packages, dependency)
		doc.Relationships = append(doc.Relationships,
			related(root.PackageSPDXIdentifier, common.TypeRelationshipDependsOn, dependency.PackageSPDXIdentifier))
	}
	var out bytes.Buffer
	if err := json.Write(doc, &out, json.Indent("  ")); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// module is the package of a Go module, by its package URL.
func module(m *debug.Module) *v2_3.Package {
	out := &v2_3.Package{
		PackageName: m.Path, PackageVersion: m.Version, PackageSPDXIdentifier: identifier(m), PackageDownloadLocation: noAssertion,
		PackageLicenseConcluded: noAssertion, PackageLicenseDeclared: noAssertion, PackageCopyrightText: noAssertion,
		PackageExternalReferences: []*v2_3.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: "pkg:golang/" + path.Clean(m.Path) + "@" + m.Version,
		}},
	}
	if m.Sum != "" {
		out.PackageComment = "checksum in go.sum: " + m.Sum
	}
	return out
}

// identifier takes only the characters that SPDX allows: letters, digits, dots and hyphens.
func identifier(m *debug.Module) common.ElementID {
	allowed := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}
	return common.ElementID("Package-" + strings.Map(allowed, m.Path+"-"+m.Version))
}

func related(a common.ElementID, how string, b common.ElementID) *v2_3.Relationship {
	return &v2_3.Relationship{RefA: common.MakeDocElementID("", string(a)), Relationship: how, RefB: common.MakeDocElementID("", string(b))}
}

// writeSBOMs writes the SBOM of each program beside the layout.
func writeSBOMs(out string, programs []Program) error {
	for _, p := range programs {
		doc, err := SBOM(p)
		if err != nil {
			return fmt.Errorf("SBOM for %s: %w", p.Platform, err)
		}
		name := "linkwright-" + p.Platform.OS + "-" + p.Platform.Architecture + ".spdx.json"
		if err := os.WriteFile(filepath.Join(out, name), doc, 0o644); err != nil {
			return err
		}
	}
	return nil
}
