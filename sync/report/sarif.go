package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report/output"
)

// unnamed is the code of an error that has no Code of its own, and the rule of what has none.
const unnamed = string(reason.InvalidDeclarations)

// sarifLog is the Static Analysis Results Interchange Format 2.1.0 (OASIS), as far as it is used here: what code
// scanning requires, and nothing that it would reject.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool       sarifTool     `json:"tool"`
	ColumnKind string        `json:"columnKind"`
	Results    []sarifResult `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"version,omitempty"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string    `json:"id"`
	ShortDescription sarifText `json:"shortDescription"`
	FullDescription  sarifText `json:"fullDescription"`
	Help             sarifText `json:"help"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Message      sarifText         `json:"message"`
	Locations    []sarifLocation   `json:"locations"`
	Related      []sarifLocation   `json:"relatedLocations,omitempty"`
	Fingerprints map[string]string `json:"partialFingerprints"`
}

type sarifLocation struct {
	Physical sarifPhysical `json:"physicalLocation"`
	Message  *sarifText    `json:"message,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI    string `json:"uri"`
	BaseID string `json:"uriBaseId,omitempty"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
}

// sarifText encodes the log; what does not encode is not there.
func (d problemsDoc) sarifText(rules []Rule, version string) string {
	text, err := output.JSON(d.sarif(rules, version))
	if err != nil { // does not happen: strings and numbers encode
		return ""
	}
	return text
}

func (d problemsDoc) sarif(rules []Rule, version string) sarifLog {
	index, driver := map[string]int{}, sarifDriver{
		Name: "linkwright", Version: version, InformationURI: "https://github.com/linkwright/linkwright",
		Rules: []sarifRule{},
	}
	for _, r := range d.rules(rules) {
		index[r.Code] = len(driver.Rules)
		driver.Rules = append(driver.Rules, sarifRuleOf(r))
	}
	run := sarifRun{Tool: sarifTool{driver}, ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	seen := map[string]int{}
	for _, f := range d.findings() {
		id := f.rule()
		same := strings.Join([]string{id, f.File, f.Message}, "\x00")
		seen[same]++
		run.Results = append(run.Results, sarifResult{
			RuleID: id, RuleIndex: index[id], Level: f.Severity, Message: sarifText{f.message()},
			Locations:    []sarifLocation{{Physical: physical(f.Place)}},
			Related:      f.related(),
			Fingerprints: map[string]string{"linkwright/v1": fingerprint(same, seen[same])},
		})
	}
	return sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}

// rules are the known ones, by code, and those that something was found by nevertheless.
func (d problemsDoc) rules(known []Rule) []Rule {
	out := slices.Clone(known)
	has := func(code string) bool {
		return slices.ContainsFunc(out, func(r Rule) bool { return r.Code == code })
	}
	for _, f := range d.findings() {
		if !has(f.rule()) {
			out = append(out, Rule{Code: f.rule(), Help: "Something is wrong with the declarations."})
		}
	}
	slices.SortFunc(out, func(a, b Rule) int { return cmp.Compare(a.Code, b.Code) })
	return out
}

func (f findingDoc) rule() string { return cmp.Or(f.Code, unnamed) }

// sarifRuleOf takes the first sentence as the short description.
func sarifRuleOf(r Rule) sarifRule {
	short := r.Help
	if first, _, more := strings.Cut(r.Help, ". "); more {
		short = first + "."
	}
	return sarifRule{ID: r.Code, ShortDescription: sarifText{short}, FullDescription: sarifText{r.Help}, Help: sarifText{r.Help}}
}

// physical is never empty: code scanning refuses the whole log for one result without a file.
func physical(at output.Place) sarifPhysical {
	p := sarifPhysical{Artifact: sarifArtifact{URI: "file://" + uri(at.File)}}
	if !path.IsAbs(at.File) {
		p.Artifact = sarifArtifact{URI: uri(cmp.Or(at.File, ".")), BaseID: "%SRCROOT%"}
	}
	if at.Line > 0 {
		p.Region = &sarifRegion{at.Line, at.Column}
	}
	return p
}

// related are other places of a finding: shown beside a result, as a link.
func (f findingDoc) related() []sarifLocation {
	if f.See == nil {
		return nil
	}
	return []sarifLocation{{Physical: physical(*f.See), Message: &sarifText{"the other place"}}}
}

// uri escapes a path; a colon, too, because what is before it would be a scheme.
func uri(file string) string {
	parts := strings.Split(file, "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(url.PathEscape(p), ":", "%3A")
	}
	return strings.Join(parts, "/")
}

// fingerprint stays the same where only lines above it move; the n-th of the same is another.
func fingerprint(same string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", same, n))
	return hex.EncodeToString(sum[:16])
}
