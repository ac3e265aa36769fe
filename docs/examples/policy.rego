# A gate for Open Policy Agent. It evaluates the JSON input.
#
#   tofu-oci mirror hashicorp/time --to … \
#     --gate 'opa eval --format raw --stdin-input --data policy.rego data.release.answer'
package release

answer := {"verdict": "deny", "reason": concat("; ", denials)} if {
	count(denials) > 0
} else := {"verdict": "hold", "reason": concat("; ", holds)} if {
	count(holds) > 0
} else := {"verdict": "allow"}

denials contains "the signing key has changed" if input.changes.signer

denials contains sprintf("the signature is %s", [input.signature.verdict]) if {
	input.signature.verdict in {"bad", "revoked", "untrusted"}
}

holds contains sprintf("%s was removed", [platform]) if {
	some platform in input.changes.platforms_removed
}

holds contains "published in the last three days" if {
	time.now_ns() - time.parse_rfc3339_ns(input.published) < ((3 * 24) * 3600) * 1000000000
}
