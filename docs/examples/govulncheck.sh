#!/bin/sh
# A gate that denies executables with known vulnerabilities. It requires govulncheck.
# Exceptions are lines in a file, such as "GO-2022-1059 2027-01-31", with their expiry dates.
# Additional arguments are passed to govulncheck.
#
#   tofu-oci mirror hashicorp/time --gate './govulncheck.sh {binary} exceptions.txt' --to …
set -eu
cat >/dev/null # the JSON input
binary=$1 exceptions=$2
shift 2
status=0
report=$(govulncheck -mode binary "$@" "$binary") || status=$?
if [ "$status" -eq 0 ]; then
  echo '{"verdict": "allow", "reason": "no known vulnerabilities"}'
  exit
fi
found=$(printf '%s\n' "$report" | sed -n 's/^Vulnerability #[0-9]*: \(GO-[0-9-]*\)$/\1/p')
if [ "$status" -ne 3 ] || [ -z "$found" ]; then
  exit 1 # the gate fails, so the release is held
fi
now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
allowed='' denied=''
for id in $found; do
  if awk -v id="$id" -v now="$now" '$1 == id && $2 > now { found = 1 } END { exit !found }' "$exceptions"; then
    allowed="$allowed $id"
  else
    denied="$denied $id"
  fi
done
if [ -n "$denied" ]; then
  printf '{"verdict": "deny", "reason": "contains%s"}\n' "$denied"
else
  printf '{"verdict": "allow", "reason": "exceptions:%s"}\n' "$allowed"
fi
