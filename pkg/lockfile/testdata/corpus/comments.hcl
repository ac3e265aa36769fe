# Reviewed by the platform team.
// And by another.

/* A licence
   of several lines */

# Why this one: see the wiki.
provider /* the */ "registry.opentofu.org/corp/thing" /* one */ { // opens
  # about the version
  version = /* inside */ "1.2.3" # pinned
  /* between */

  constraints = "~> 1.2" // from main.tf
  # above the list
  hashes = [ # opens too
    # mac
    "h1:b", # beside b
    /* linux */ "h1:a", /* beside
    a */ "zh:a" # last, without a comma

    # the end of the list
  ] # closes
  # the end of the block
} # after the block

# at the end
