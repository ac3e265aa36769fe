package main

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/verify"
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
	} `json:"physicalLocation"`
	Logical []sarifLogical `json:"logicalLocations"`
}

type sarifLogical struct {
	Name string `json:"fullyQualifiedName"`
}

func sarifOf(v verification) sarif {
	run := sarifRun{Results: []sarifResult{}, Invocations: []sarifInvocation{{Successful: len(v.Failed) == 0}}}
	run.Tool.Driver = sarifDriver{Name: "tofu-oci", Version: version, InformationURI: "https://github.com/tofu-oci/tofu-oci"}
	for _, rule := range verify.Rules() {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{rule.Code, sarifText{rule.Means}})
	}
	for _, f := range v.Findings {
		// Pages want a file. There is none, so it is called as people call it.
		about := strings.TrimRight(strings.Join([]string{f.Provider, f.Version, f.Platform}, "/"), "/")
		var at sarifLocation
		at.Physical.Artifact.URI = (&url.URL{Path: about}).String()
		at.Logical = []sarifLogical{{about}}
		run.Results = append(run.Results, sarifResult{
			RuleID: f.Code, Level: string(f.Severity), Message: sarifText{f.Problem + "\n\n" + f.Remedy},
			Locations: []sarifLocation{at}, Fingerprints: map[string]string{"tofu-oci/v1": f.Code + " " + about},
		})
	}
	if v.More > 0 {
		run.Invocations[0].note("warning", fmt.Sprintf("%d more findings are left out", v.More))
	}
	for _, failed := range v.Failed {
		run.Invocations[0].note("error", failed.Provider+" "+failed.Version+": "+failed.Error.Message)
	}
	return sarif{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}

func (i *sarifInvocation) note(level, text string) {
	i.Notifications = append(i.Notifications, sarifNotification{level, sarifText{text}})
}
