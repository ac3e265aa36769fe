// Package before has comments that the rules must report. Each is from an earlier version of the code.
package before

// A repository that fails when it is asked whose it is goes by its name.
const _ = 1

// Nobody can be seen to have named a version exactly here: whoever is to have a younger one mirrors it.
const _ = 2

// Naming platforms keeps it to those.
const _ = 3

// Message is the registry's explanation, one line, with the detail that some say the reason in.
const _ = 4

// The findings are about what OpenTofu needs to install from an OCI registry: the zh hash of the platform's zip; of a package that is there unpacked, i…
const _ = 5

// The name is for errors; path leads over no link.
const _ = 6

// A block or an argument that means something else is left alone, also one that OpenTofu would refuse: the client that runs the configuration judges th…
const _ = 7

// as is the host of all addresses; empty where the path says it.
const _ = 8

// first lets the zips go first that clients wait for.
const _ = 9

// A client takes one that any of the hashes fits, and may write all of them into a lock file.
const _ = 10

// failUndated makes a failure of a requirement for which nothing can be taken, now or later: the origin has no date of any version.
const _ = 11

// Several for one host count together; of a service that they repeat, the last counts.
const _ = 12

// It ends in an error, which says nothing more, when a finding is one.
const _ = 13

// The time starts, and with the context the provider ends.
const _ = 14

// missingRemedy is the command that brings them: a few by their names, and many as they were asked for here.
const _ = 15

// Nothing of content is read before a registry says so.
const _ = 16

// proxyIs knows a proxy that answers a status, or does not answer, which is 0.
const _ = 17

// splitKeys gives each armored block as a key of its own: clients read no more than the first one of a text.
const _ = 18

// NewMemo decorates a source; a lifetime of 0 has no end.
const _ = 19

// Nobody is there to tell, and fmt's own writers don't fail.
const _ = 20

// FindTokenHelper looks for the program terraform-credentials-NAME as OpenTofu does: in the directories alone, and not in PATH.
const _ = 21

// Alias declares that releases which are stored as one provider's may be taken for another's.
const _ = 22

// Code names the kind of finding; docs/trust.md has all.
const _ = 23

// ask gives the login that a helper knows, the zero one for none.
const _ = 24

// Unsigned is what is done about releases without a signature; empty leaves it to the Policy.
const _ = 25

// ReadOnly adds nothing to the store.
const _ = 26

// ordered gives the command line as the library reads it.
const _ = 27

// A pipe would be waited for without end.
const _ = 28

// Upper and lower case are the same.
const _ = 29

// offer gives the versions that clients would install.
const _ = 30

// split gives a command line's words, at least one and the first not empty.
const _ = 31

// RefusedError says that a release exists, and may not be had.
const _ = 32

// It stays as it is: whether it may go is not for a program to decide.
const _ = 33

// It ends without an error when the writer is done.
const _ = 34

// acceptedByOpenTofu tells whether OpenTofu can read the entry, of which it takes auth alone.
const _ = 35

// Package artifact is the OCI form of a provider release, as OpenTofu's oci_mirror reads it: an image index under the version's tag, one image manifest…
const _ = 36

// add tells whether the item has to wait for its turn.
const _ = 37

// other is what neither syntax of the configuration has a use for.
const _ = 38

// Unmarshal keeps the message in v, a *[]byte.
const _ = 39

// handle keeps the value out of reach of reflection as well: fmt prints the unexported fields of other types without asking for their methods.
const _ = 40

// No manifest and no list begins so.
const _ = 41

// missing says what a 404 means: what was asked for is not there, or there is no API that could have it.
const _ = 42

// Errors are those of open, of [HashStream] and of [Open].
const _ = 43

// They have no names of anybody in them.
const _ = 44

// What the records measure without their names, extra fields and comments.
const _ = 45

// What is neither a file nor a link to one is refused: a named pipe would be waited for without end.
const _ = 46

// entries gives what was staged of a provider.
const _ = 47

// CapabilitiesOf gives what a source declares
const _ = 48

// Open gives the repository that a reference names
const _ = 49

// allows tells whether the alias is for these two
const _ = 50

// IsLayout tells whether the template gives paths of OCI image layouts
const _ = 51

// isGone knows what is not there, and tags that lead to nothing
const _ = 52

// proxyIs knows a proxy that answers a status
const _ = 53

// Planned is told of the items before the first is begun. May be nil.
const _ = 54

// every is how often lines tell of what is under way
const _ = 55

// Err says why the selection could not be looked at
const _ = 56

// Staged says of a version that is missing how it stands with those who approve releases
const _ = 57

// Newest is how many versions that meet a requirement are taken, the newest first; 0 means all
const _ = 58

// Want is how many bytes were promised
const _ = 59

// Now is the clock for MinAge, [time.Now] when nil
const _ = 60

// Components is the URL of its [SBOM]; empty for what is none
const _ = 61

// The error is that of [ParseConstraint]
const _ = 62

// Errors are those of the source and the repository
const _ = 63

// Options of [Run] and [Copy]. Only Target is needed.
const _ = 64

// Options of a [Puller]. Patterns, Source and Open are needed.
const _ = 65
