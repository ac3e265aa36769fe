package report

import (
	"net/url"

	"github.com/tofu-oci/tofu-oci/pkg/finding"
)

// sarif is the part of SARIF 2.1.0 that findings need.
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
type sarif struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	Results     []sarifResult     `json:"results"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"version"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string    `json:"id"`
	ShortDescription sarifText `json:"shortDescription"`
}

type sarifText struct {
	Text string `json:"text"`
}

// sarifInvocation tells what could not be looked at.
type sarifInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
}

type sarifNotification struct {
	Level   string    `json:"level"`
	Message sarifText `json:"message"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
	// Fingerprints let a page know a finding of an earlier run again.
	Fingerprints map[string]string `json:"partialFingerprints"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region *sarifRegion `json:"region,omitempty"`
	} `json:"physicalLocation"`
	Logical []sarifLogical `json:"logicalLocations"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type sarifLogical struct {
	Name string `json:"fullyQualifiedName"`
}

// newSARIF begins a report about some rules.
func newSARIF(version string, rules []finding.Rule) sarif {
	run := sarifRun{Results: []sarifResult{}, Invocations: []sarifInvocation{{Successful: true}}}
	run.Tool.Driver = sarifDriver{Name: "tofu-oci", Version: version, InformationURI: "https://github.com/tofu-oci/tofu-oci"}
	for _, rule := range rules {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{rule.Code, sarifText{rule.Means}})
	}
	return sarif{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}

// add adds a finding about something, in a line of a file; 0 is the file as a whole.
func (s *sarif) add(f finding.Finding, about, file string, line int) {
	var at sarifLocation
	at.Physical.Artifact.URI = (&url.URL{Path: file}).String()
	if line > 0 {
		at.Physical.Region = &sarifRegion{line}
	}
	at.Logical = []sarifLogical{{about}}
	s.Runs[0].Results = append(s.Runs[0].Results, sarifResult{
		RuleID: f.Code, Level: string(f.Severity), Message: sarifText{f.Message + "\n\n" + f.Remedy},
		Locations: []sarifLocation{at}, Fingerprints: map[string]string{"tofu-oci/v1": f.Code + " " + about},
	})
}

// fail says what could not be looked at.
func (s *sarif) fail(text string) {
	s.Runs[0].Invocations[0].Successful = false
	s.note("error", text)
}

// note says something about the run as a whole.
func (s *sarif) note(level, text string) {
	i := &s.Runs[0].Invocations[0]
	i.Notifications = append(i.Notifications, sarifNotification{level, sarifText{text}})
}
