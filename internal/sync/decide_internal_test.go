package sync

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// situation is a row of [TestDecide].
type situation struct {
	requirements []string // default: all versions
	settings     Settings
	origin       string // versions; 2 days old with the suffix ":young", otherwise 30 days
	originErr    error
	main         string // tags
	mainErr      error
	// copy contains the tags of the target dr, which copies from main.
	copy       *string
	unselected string // versions with dates in the record, such as 1.0.0:100d
	pruned     string
	statuses   map[string]publish.Status
	check      repository.Depth
	deny       string // constraint
	prune      *Prune
	problems   bool
	unlisted   bool
	unchanged  int
	want       string
}

func (s situation) world(t *testing.T) *world {
	t.Helper()
	a := nouns.Address(t, "acme/rocket")
	if s.requirements == nil {
		s.requirements = []string{""}
	}
	w := &world{check: s.check, problems: s.problems}
	w.declaration = Declaration{Targets: []Target{{Name: "main"}}, Prune: s.prune}
	if w.check == 0 {
		w.check = repository.DepthTags
	}
	if s.settings.Targets == nil {
		s.settings.Targets = []string{"main", "dr"}
	}
	p := &simProvider{
		wanted:    Wanted{Address: a, Settings: s.settings, Requirements: requirementsOf(t, a, s.requirements...)},
		published: map[provider.Version]time.Time{}, err: s.originErr, targets: []*simTarget{newSimTarget(strings.Fields(s.main)...)},
	}
	for text := range strings.FieldsSeq(s.origin) {
		v, young := strings.CutSuffix(text, ":young")
		p.published[nouns.Version(t, v)] = noon.Add(-30 * day)
		if young {
			p.published[nouns.Version(t, v)] = noon.Add(-2 * day)
		}
	}
	main := p.targets[0]
	main.err, main.unlisted = s.mainErr, s.unlisted
	for v, status := range s.statuses {
		main.statuses[nouns.Version(t, v)] = status
	}
	for into, text := range map[*map[provider.Version]time.Time]string{&main.record.Unwanted: s.unselected, &main.record.Pruned: s.pruned} {
		for entry := range strings.FieldsSeq(text) {
			v, age, _ := strings.Cut(entry, ":")
			hours, err := time.ParseDuration(strings.TrimSuffix(age, "d") + "h")
			if err != nil {
				t.Fatal(err)
			}
			(*into)[nouns.Version(t, v)] = noon.Add(-24 * hours)
		}
	}
	if s.copy != nil {
		w.declaration.Targets = append(w.declaration.Targets, Target{Name: "dr", From: "main"})
		p.targets = append(p.targets, newSimTarget(strings.Fields(*s.copy)...))
	}
	if s.deny != "" {
		d := Denial{Pattern: pattern(t, "acme/*"), Reason: "withdrawn", Position: "mirror.hcl:9"}
		var err error
		if d.Versions, err = provider.ParseConstraint(s.deny); err != nil {
			t.Fatal(err)
		}
		w.declaration.Denials = []Denial{d}
	}
	w.providers = []*simProvider{p}
	return w
}

// pattern parses a pattern. A pattern of modules has the prefix "module ".
func pattern(tb testing.TB, text string) (p Pattern) {
	tb.Helper()
	var err error
	if text, isModule := strings.CutPrefix(text, "module "); isModule {
		p.Modules, err = provider.ParseModulePattern(text)
	} else {
		p.Providers, err = provider.ParsePattern(text)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// TestDecide checks each rule in a separate row.
func TestDecide(t *testing.T) {
	t.Parallel()
	const index = repository.DepthIndex
	has := func(tags string) *string { return &tags }
	newest, young := Settings{Latest: 1}, Settings{Latest: 1, MinAge: 7 * day}
	stage, nothing, copies := Settings{Latest: 1, Stage: true}, Settings{None: true}, Settings{Latest: 1, Targets: []string{"dr"}}
	keep := func(n int) *Prune { return &Prune{Delete: true, KeepPrevious: n, KeepFor: 90 * day, MaxDelete: 20} }
	report := &Prune{KeepFor: 90 * day, MaxDelete: 20}
	few := &Prune{Delete: true, KeepFor: 90 * day, MaxDelete: 1}
	down := errors.New("registry is down")
	for name, s := range map[string]situation{
		// Releases
		"mirror what is missing":              {origin: "2.0.0 1.0.0", main: "1.0.0", unchanged: 1, want: "mirror main 2.0.0"},
		"mirror the newest":                   {settings: newest, origin: "2.0.0 1.0.0", want: "mirror main 2.0.0"},
		"several requirements":                {requirements: []string{"< 2", "3.0.0"}, settings: newest, origin: "3.0.0 2.0.0 1.0.0", want: "mirror main 3.0.0, mirror main 1.0.0"},
		"no version matches":                  {requirements: []string{"> 9"}, origin: "1.0.0", want: "fail"},
		"the origin is down":                  {originErr: down, main: "1.0.0", want: "fail"},
		"the origin is not needed for a lock": {requirements: []string{"lock:1.0.0"}, originErr: down, want: "mirror main 1.0.0"},
		"locked versions of a failing origin": {requirements: []string{"", "lock:1.0.0"}, originErr: down, want: "fail, mirror main 1.0.0"},
		"the target is down":                  {mainErr: down, origin: "1.0.0", want: "fail main"},
		"none, but a lock":                    {requirements: []string{"", "lock:1.0.0"}, settings: nothing, origin: "2.0.0 1.0.0", want: "mirror main 1.0.0"},
		"too young":                           {settings: young, origin: "2.0.0:young 1.0.0", want: "hold main 2.0.0, mirror main 1.0.0"},
		"too young, but there":                {settings: young, origin: "2.0.0:young 1.0.0", main: "2.0.0", unchanged: 1},
		"too young, but locked":               {requirements: []string{"", "lock:2.0.0"}, settings: young, origin: "2.0.0:young 1.0.0", want: "mirror main 2.0.0"},
		"stage":                               {settings: stage, origin: "1.0.0", want: "stage main pending-1.0.0"},
		"waits for approval":                  {settings: stage, origin: "1.0.0", main: "pending-1.0.0", want: "pending main pending-1.0.0"},
		"waits for approval, checked":         {settings: stage, origin: "1.0.0", main: "pending-1.0.0", check: index, want: "pending main pending-1.0.0"},
		"a pending release lacks a platform":  {settings: stage, origin: "1.0.0", main: "pending-1.0.0", check: index, statuses: map[string]publish.Status{"1.0.0": publish.Extended}, want: "stage main pending-1.0.0"},
		"a released one needs a new approval": {settings: stage, origin: "1.0.0", main: "1.0.0", check: index, statuses: map[string]publish.Status{"1.0.0": publish.Extended}, want: "stage main pending-1.0.0"},
		"pending without stage":               {settings: newest, origin: "1.0.0", main: "pending-1.0.0", want: "pending main pending-1.0.0"},
		"extend":                              {origin: "1.0.0", main: "1.0.0", check: index, statuses: map[string]publish.Status{"1.0.0": publish.Extended}, want: "extend main 1.0.0"},
		"tags are not enough to extend":       {origin: "1.0.0", main: "1.0.0", statuses: map[string]publish.Status{"1.0.0": publish.Extended}, unchanged: 1},
		"repair":                              {origin: "1.0.0", main: "1.0.0", check: index, statuses: map[string]publish.Status{"1.0.0": publish.Repaired}, want: "repair main 1.0.0"},
		"conflict":                            {origin: "1.0.0", main: "1.0.0", check: index, statuses: map[string]publish.Status{"1.0.0": "conflict"}, want: "conflict main 1.0.0"},
		"a check fails":                       {origin: "1.0.0", main: "1.0.0", check: index, statuses: map[string]publish.Status{"1.0.0": "failed"}, want: "fail main 1.0.0"},
		"tags can't be listed":                {origin: "2.0.0 1.0.0", main: "1.0.0", unlisted: true, unchanged: 1, want: "mirror main 2.0.0"},
		"tags of a source can't be listed":    {origin: "1.0.0", main: "1.0.0", unlisted: true, copy: has(""), unchanged: 1, want: "copy dr 1.0.0"},
		"tags to deny can't be listed":        {origin: "1.0.0", main: "1.0.0", unlisted: true, deny: "0.9.0", unchanged: 1, want: "fail main"},
		// Copies
		"copy what arrives":              {settings: newest, origin: "1.0.0", copy: has(""), want: "mirror main 1.0.0, copy dr 1.0.0"},
		"copy what is there":             {settings: newest, origin: "1.0.0", main: "1.0.0", copy: has(""), unchanged: 1, want: "copy dr 1.0.0"},
		"copied before":                  {settings: newest, origin: "1.0.0", main: "1.0.0", copy: has("1.0.0"), unchanged: 2},
		"copy only what is approved":     {settings: stage, origin: "1.0.0", copy: has(""), want: "stage main pending-1.0.0, pending dr 1.0.0"},
		"copy from a target that waits":  {settings: stage, origin: "1.0.0", main: "pending-1.0.0", copy: has(""), want: "pending main pending-1.0.0, pending dr 1.0.0"},
		"copy what is restored":          {settings: newest, origin: "1.0.0", main: "pruned-1.0.0", copy: has(""), want: "restore main pruned-1.0.0, copy dr 1.0.0"},
		"copy what is extended":          {settings: newest, origin: "1.0.0", main: "1.0.0", copy: has("1.0.0"), check: index, statuses: map[string]publish.Status{"1.0.0": publish.Extended}, want: "extend main 1.0.0, extend dr 1.0.0"},
		"copy from a target of others":   {settings: copies, origin: "2.0.0 1.0.0", main: "1.0.0", copy: has(""), want: "hold dr 2.0.0"},
		"a copy of what the source lost": {settings: copies, origin: "1.0.0", copy: has("1.0.0"), check: index, unchanged: 1},
		"a copy too young for its source": {settings: young, origin: "2.0.0:young 1.0.0", main: "1.0.0", copy: has("2.0.0"), unchanged: 2,
			want: "hold main 2.0.0"},
		"the source is down":             {settings: newest, origin: "1.0.0", mainErr: down, copy: has(""), want: "fail main, fail dr"},
		"the source denies it":           {settings: newest, origin: "1.0.0", main: "denied-1.0.0", copy: has(""), want: "skip main 1.0.0, skip dr 1.0.0"},
		"the source of others is denied": {settings: copies, origin: "1.0.0", main: "1.0.0 denied-1.0.0", copy: has("1.0.0"), want: "deny dr 1.0.0"},
		// Denials
		"denied in the repository":    {settings: newest, origin: "2.0.0 1.0.0", main: "denied-2.0.0", want: "skip main 2.0.0, mirror main 1.0.0"},
		"a future version is denied":  {settings: newest, origin: "2.0.0 1.0.0", deny: ">= 2", want: "skip main 2.0.0, mirror main 1.0.0"},
		"deny":                        {settings: newest, origin: "2.0.0 1.0.0", main: "2.0.0 1.0.0", deny: "2.0.0", unchanged: 1, want: "deny main 2.0.0"},
		"deny in all targets":         {settings: newest, origin: "2.0.0", main: "2.0.0", copy: has("2.0.0"), deny: "2.0.0", want: "deny main 2.0.0, deny dr 2.0.0"},
		"deny a pending version":      {settings: stage, origin: "2.0.0", main: "pending-2.0.0", deny: "2.0.0", want: "deny main pending-2.0.0"},
		"deny what nothing selects":   {settings: nothing, main: "2.0.0", deny: "2.0.0", want: "deny main 2.0.0"},
		"denied before":               {settings: newest, origin: "2.0.0", main: "denied-2.0.0", deny: "2.0.0", want: "skip main 2.0.0"},
		"denied, but the tag stays":   {settings: newest, origin: "2.0.0", main: "2.0.0 denied-2.0.0", deny: "2.0.0", want: "deny main 2.0.0"},
		"deny what is locked":         {requirements: []string{"lock:2.0.0"}, main: "2.0.0", deny: "2.0.0", want: "deny main 2.0.0"},
		"locked, denied, and missing": {requirements: []string{"lock:2.0.0"}, deny: "2.0.0", want: "skip main 2.0.0"},
		"a problem stops denials":     {settings: newest, origin: "2.0.0", main: "2.0.0", deny: "2.0.0", problems: true, want: "hold main 2.0.0"},
		"an origin stops no denials":  {originErr: down, main: "2.0.0", deny: "2.0.0", want: "fail, deny main 2.0.0"},
		// Prune
		"not declared":                    {settings: newest, origin: "2.0.0 1.0.0", main: "2.0.0 1.0.0", unchanged: 1},
		"mark":                            {settings: newest, origin: "2.0.0 1.0.0", main: "2.0.0 1.0.0", prune: keep(0), unchanged: 1, want: "mark main 1.0.0"},
		"mark in report mode":             {settings: newest, origin: "2.0.0 1.0.0", main: "2.0.0 1.0.0", prune: report, unchanged: 1, want: "mark main 1.0.0"},
		"keep the previous one":           {settings: newest, origin: "3.0.0", main: "3.0.0 2.0.0 1.0.0", prune: keep(1), unchanged: 1, want: "mark main 1.0.0"},
		"keep only older ones":            {requirements: []string{"< 2"}, settings: newest, origin: "1.0.0", main: "3.0.0 2.0.0 1.0.0", prune: keep(5), unchanged: 1, want: "mark main 3.0.0, mark main 2.0.0"},
		"nothing is selected":             {settings: nothing, main: "3.0.0 2.0.0 1.0.0", prune: keep(1), want: "mark main 2.0.0, mark main 1.0.0"},
		"wait":                            {settings: newest, origin: "2.0.0", main: "2.0.0 1.0.0", unselected: "1.0.0:89d", prune: keep(0), unchanged: 1, want: "hold main 1.0.0"},
		"prune":                           {settings: newest, origin: "2.0.0", main: "2.0.0 1.0.0", unselected: "1.0.0:90d", prune: keep(0), unchanged: 1, want: "prune main 1.0.0"},
		"only report":                     {settings: newest, origin: "2.0.0", main: "2.0.0 1.0.0", unselected: "1.0.0:90d", prune: report, unchanged: 1, want: "hold main 1.0.0"},
		"selected again":                  {settings: newest, origin: "1.0.0", main: "1.0.0", unselected: "1.0.0:90d", prune: keep(0), unchanged: 1, want: "unmark main 1.0.0"},
		"selected again, not pruning":     {settings: newest, origin: "1.0.0", main: "1.0.0", unselected: "1.0.0:90d", unchanged: 1, want: "unmark main 1.0.0"},
		"unselected, pruning disabled":    {settings: newest, origin: "2.0.0", main: "2.0.0 1.0.0", unselected: "1.0.0:90d", unchanged: 1},
		"kept again":                      {settings: newest, origin: "2.0.0", main: "2.0.0 1.0.0", unselected: "1.0.0:90d", prune: keep(1), unchanged: 1, want: "unmark main 1.0.0"},
		"pruned":                          {settings: newest, origin: "2.0.0", main: "2.0.0 pruned-1.0.0", pruned: "1.0.0:89d", prune: keep(0), unchanged: 1, want: "hold main pruned-1.0.0"},
		"delete":                          {settings: newest, origin: "2.0.0", main: "2.0.0 pruned-1.0.0", pruned: "1.0.0:90d", prune: keep(0), unchanged: 1, want: "delete main pruned-1.0.0"},
		"delete only in delete mode":      {settings: newest, origin: "2.0.0", main: "2.0.0 pruned-1.0.0", pruned: "1.0.0:90d", prune: report, unchanged: 1, want: "hold main pruned-1.0.0"},
		"the pruning date is lost":        {settings: newest, origin: "2.0.0", main: "2.0.0 pruned-1.0.0", prune: keep(0), unchanged: 1, want: "mark main pruned-1.0.0"},
		"restore":                         {settings: newest, origin: "1.0.0", main: "pruned-1.0.0", unselected: "1.0.0:180d", pruned: "1.0.0:90d", prune: keep(0), want: "restore main pruned-1.0.0, unmark main 1.0.0"},
		"restore what is locked":          {requirements: []string{"", "lock:1.0.0"}, settings: newest, origin: "2.0.0", main: "2.0.0 pruned-1.0.0", pruned: "1.0.0:90d", prune: keep(0), unchanged: 1, want: "restore main pruned-1.0.0"},
		"restore without pruning":         {settings: newest, origin: "1.0.0", main: "pruned-1.0.0", want: "restore main pruned-1.0.0"},
		"pruning was interrupted":         {settings: newest, origin: "2.0.0", main: "2.0.0 1.0.0 pruned-1.0.0", unselected: "1.0.0:90d", pruned: "1.0.0:0d", prune: keep(0), unchanged: 1, want: "prune main 1.0.0"},
		"pruning was interrupted, wanted": {settings: newest, origin: "1.0.0", main: "1.0.0 pruned-1.0.0", prune: keep(0), want: "restore main pruned-1.0.0"},
		"never a denied version":          {settings: newest, origin: "2.0.0", main: "2.0.0 1.0.0 denied-1.0.0 pruned-0.9.0", deny: "0.9.0", pruned: "0.9.0:900d", unselected: "1.0.0:900d", prune: keep(0), unchanged: 1, want: "unmark main 1.0.0"},
		"never a pending version":         {settings: newest, origin: "2.0.0", main: "2.0.0 1.0.0 pending-1.0.0 pruned-0.9.0 pending-0.9.0", pruned: "0.9.0:900d", unselected: "1.0.0:900d", prune: keep(0), unchanged: 1, want: "unmark main 1.0.0"},
		"never what is locked":            {requirements: []string{"", "lock:1.0.0"}, settings: newest, origin: "2.0.0 1.0.0", main: "2.0.0 1.0.0", prune: keep(0), unchanged: 2},
		"not before its successor is approved": {settings: stage, origin: "2.0.0 1.0.0", main: "pending-2.0.0 1.0.0", prune: keep(0),
			want: "pending main pending-2.0.0"},
		"not before its successor is old enough": {settings: young, origin: "2.0.0:young 1.0.0", main: "1.0.0", prune: keep(0), unchanged: 1,
			want: "hold main 2.0.0"},
		"not when its successor is mirrored": {settings: newest, origin: "2.0.0 1.0.0", main: "1.0.0", prune: keep(0), // a gate can hold the successor
			want: "mirror main 2.0.0"},
		"not when its successor is copied": {settings: newest, origin: "2.0.0 1.0.0", main: "2.0.0", copy: has("1.0.0"), prune: keep(0), unchanged: 1,
			want: "copy dr 2.0.0"},
		"not when its successor is restored": {settings: newest, origin: "2.0.0 1.0.0", main: "pruned-2.0.0 1.0.0", unselected: "1.0.0:90d", prune: keep(0),
			want: "restore main pruned-2.0.0, unmark main 1.0.0"},
		"not what is pruned when its successor is mirrored": {settings: newest, origin: "3.0.0 2.0.0", main: "1.0.0 pruned-2.0.0", pruned: "2.0.0:90d", prune: keep(0),
			want: "mirror main 3.0.0, hold main pruned-2.0.0"},
		"when its successor has arrived":    {settings: newest, origin: "2.0.0 1.0.0", main: "2.0.0 1.0.0", prune: keep(0), unchanged: 1, want: "mark main 1.0.0"},
		"not what the origin has withdrawn": {settings: newest, origin: "1.0.0", main: "2.0.0 1.0.0", prune: keep(0), unchanged: 1},
		"the successor is denied":           {settings: newest, origin: "2.0.0 1.0.0", main: "2.0.0 1.0.0", deny: "2.0.0", prune: keep(0), unchanged: 1, want: "deny main 2.0.0"},
		"not if the list is empty":          {settings: newest, main: "2.0.0 1.0.0", unselected: "1.0.0:90d", prune: keep(0), want: "fail, hold main 1.0.0"},
		"not what a short list lacks":       {settings: Settings{Latest: 2}, origin: "0.1.0", main: "3.0.0 2.0.0 1.0.0", prune: keep(0), want: "mirror main 0.1.0, mark main 1.0.0"},
		"not if a tag is not listed":        {settings: newest, origin: "3.0.0 2.0.0 1.0.0", main: "1.0.0", unselected: "1.0.0:1d", prune: keep(0), want: "mirror main 3.0.0, unmark main 1.0.0"},
		"not what is pruned and withdrawn":  {settings: newest, origin: "1.0.0", main: "1.0.0 pruned-2.0.0", pruned: "2.0.0:900d", prune: keep(0), unchanged: 1, want: "hold main pruned-2.0.0"},
		"not what is pruned and too young":  {settings: young, origin: "2.0.0:young 1.0.0", main: "1.0.0 pruned-2.0.0", pruned: "2.0.0:900d", prune: &Prune{Delete: true, MaxDelete: 1}, unchanged: 1, want: "hold main 2.0.0"},
		"not at a date in the future":       {settings: newest, origin: "2.0.0", main: "2.0.0 1.0.0 pruned-0.9.0", unselected: "1.0.0:-9d", pruned: "0.9.0:-9d", prune: keep(0), unchanged: 1, want: "mark main 1.0.0, mark main pruned-0.9.0"},
		"not at a date in the far past":     {settings: newest, origin: "2.0.0", main: "2.0.0 1.0.0 pruned-0.9.0", unselected: "1.0.0:9999d", pruned: "0.9.0:9999d", prune: keep(0), unchanged: 1, want: "mark main 1.0.0, mark main pruned-0.9.0"},
		"in a copy":                         {settings: newest, origin: "2.0.0", main: "2.0.0", copy: has("2.0.0 1.0.0"), prune: keep(0), unchanged: 2, want: "mark dr 1.0.0"},
		"not in a target of others":         {settings: copies, origin: "2.0.0", main: "2.0.0 1.0.0", copy: has("2.0.0"), prune: keep(0), unchanged: 1},
		"not if the origin fails":           {settings: newest, originErr: down, main: "2.0.0 1.0.0 0.9.0", unselected: "1.0.0:90d", prune: keep(0), want: "fail, hold main 1.0.0"},
		"not if no version matches":         {requirements: []string{"> 9", "lock:1.0.0"}, origin: "1.0.0", main: "1.0.0 0.9.0", unselected: "0.9.0:90d", prune: keep(0), unchanged: 1, want: "fail, hold main 0.9.0"},
		"not if there are problems":         {settings: newest, origin: "2.0.0", main: "2.0.0 1.0.0 0.9.0", unselected: "1.0.0:90d", problems: true, prune: keep(0), unchanged: 1, want: "hold main 1.0.0"},
		"not if a check fails":              {settings: newest, origin: "2.0.0", main: "2.0.0 1.0.0", check: index, unselected: "1.0.0:90d", statuses: map[string]publish.Status{"2.0.0": "failed"}, prune: keep(0), want: "fail main 2.0.0"},
		"not if tags can't be listed":       {settings: nothing, main: "1.0.0", unlisted: true, prune: keep(0)},
		"a limit": {settings: newest, origin: "3.0.0", main: "3.0.0 2.0.0 1.0.0 pruned-0.9.0", unselected: "2.0.0:90d 1.0.0:90d", pruned: "0.9.0:90d", prune: few, unchanged: 1,
			want: "hold main 2.0.0, hold main pruned-0.9.0, prune main 1.0.0"},
		"only denials if nothing is selected": {requirements: []string{}, settings: nothing, origin: "2.0.0", main: "2.0.0 1.0.0 pruned-0.9.0", copy: has("1.0.0"), deny: "1.0.0", unselected: "2.0.0:90d", pruned: "0.9.0:90d", prune: keep(0),
			want: "deny main 1.0.0, deny dr 1.0.0"},
		"denials of what nothing selects need tags": {requirements: []string{}, settings: nothing, main: "1.0.0", unlisted: true, deny: "1.0.0", want: "fail main"},
		"a repeated denial doesn't count": {settings: newest, origin: "3.0.0", main: "3.0.0 2.0.0 denied-2.0.0 1.0.0", deny: "< 3", prune: few, unchanged: 1,
			want: "deny main 2.0.0, deny main 1.0.0"}, // a registry that doesn't delete tags would otherwise keep 1.0.0 forever
		"a repeated denial of the source doesn't count": {settings: copies, origin: "2.0.0", main: "denied-2.0.0 denied-1.0.0", copy: has("2.0.0 denied-2.0.0 1.0.0"), prune: few,
			want: "deny dr 2.0.0, deny dr 1.0.0"},
		"denials come first": {settings: newest, origin: "3.0.0", main: "3.0.0 2.0.0 1.0.0", deny: "1.0.0", unselected: "2.0.0:90d", prune: few, unchanged: 1,
			want: "hold main 2.0.0, deny main 1.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := s.world(t)
			if diff := cmp.Diff(s.want, describe(w.plan())); diff != "" {
				t.Error(diff)
			}
			if d := w.decide(w.providers[0]); d.unchanged != s.unchanged {
				t.Errorf("%d releases are unchanged, want %d", d.unchanged, s.unchanged)
			}
		})
	}
}

// TestReasons checks the reason that each action reports.
func TestReasons(t *testing.T) {
	t.Parallel()
	tags := ""
	for name, test := range map[string]struct {
		situation
		want string
	}{
		"mirror":    {situation{requirements: []string{"", "lock:1.0.0"}, origin: "1.0.0"}, "selected by mirror.hcl:1, .terraform.lock.hcl"},
		"hold":      {situation{settings: Settings{MinAge: 7 * day}, origin: "1.0.0:young"}, "published on 2026-11-20; can be mirrored on or after 2026-11-27T12:00:00Z"},
		"skip":      {situation{origin: "1.0.0", deny: "1.0.0"}, "denied by mirror.hcl:9: withdrawn"},
		"denied":    {situation{origin: "1.0.0", main: "denied-1.0.0"}, "denied in main/rocket"},
		"deny":      {situation{requirements: []string{"lock:1.0.0"}, main: "1.0.0", deny: "1.0.0"}, "mirror.hcl:9: withdrawn locked by .terraform.lock.hcl"},
		"limit":     {situation{origin: "1.0.0", main: "1.0.0", deny: "1.0.0", prune: &Prune{}}, "mirror.hcl:9: withdrawn; max_delete has been reached"},
		"mark":      {situation{settings: Settings{None: true}, main: "1.0.0", prune: &Prune{Delete: true, KeepFor: day, MaxDelete: 1}}, "not selected; can be pruned on or after 2026-11-23T12:00:00Z"},
		"pruned":    {situation{settings: Settings{None: true}, main: "pruned-1.0.0", pruned: "1.0.0:2d", prune: &Prune{Delete: true, KeepFor: 3 * day, MaxDelete: 1}}, "pruned on 2026-11-20; can be deleted on or after 2026-11-23T12:00:00Z"},
		"prune":     {situation{settings: Settings{None: true}, main: "1.0.0", unselected: "1.0.0:2d", prune: &Prune{Delete: true, KeepFor: day, MaxDelete: 1}}, "not selected since 2026-11-20"},
		"report":    {situation{settings: Settings{None: true}, main: "1.0.0", unselected: "1.0.0:2d", prune: &Prune{KeepFor: day, MaxDelete: 1}}, `not selected since 2026-11-20; could be pruned on or after 2026-11-21T12:00:00Z, but the prune mode is "report"`},
		"conflict":  {situation{origin: "1.0.0", main: "1.0.0", check: repository.DepthIndex, statuses: map[string]publish.Status{"1.0.0": "conflict"}}, "other zips"},
		"no source": {situation{settings: Settings{Targets: []string{"dr"}}, origin: "1.0.0", copy: &tags}, `the release does not exist in target "main"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			actions := test.world(t).plan()
			if len(actions) != 1 {
				t.Fatal(describe(actions))
			}
			a := actions[0]
			got := a.Reason + strings.Join(a.Conflicts, "; ")
			if !a.Eligible.IsZero() && !strings.Contains(got, date(a.Eligible)) {
				t.Errorf("%q does not contain %s", got, date(a.Eligible))
			}
			if a.Locked != nil {
				got += " locked by " + strings.Join(a.Locked, ", ")
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestShardPart checks that the limits of all shards add up to the limit of the
// declaration, and that each shard can remove at least one version.
func TestShardPart(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{0, 1, 7, 20} {
		if got := (Shard{}).part(limit); got != limit {
			t.Errorf("%d without shards", got)
		}
		for count := 1; count <= 24; count++ {
			sum, want := 0, limit
			if limit > 0 {
				want = max(limit, count)
			}
			for i := 1; i <= count; i++ {
				part := Shard{i, count}.part(limit)
				if part == 0 && limit > 0 {
					t.Errorf("shard %d/%d can never remove versions, although the limit is %d", i, count, limit)
				}
				sum += part
			}
			if sum != want {
				t.Errorf("%d shards: %d, want %d", count, sum, want)
			}
		}
	}
}
