package credentials_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/credentials"
)

func TestSetMember(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"nothing":                 {"", "{\n\t\"auths\": {\n\t\t\"host\": {\n\t\t\t\"auth\": \"x\"\n\t\t}\n\t}\n}\n"},
		"an empty object":         {"{}", "{\n\t\"auths\": {\n\t\t\"host\": {\n\t\t\t\"auth\": \"x\"\n\t\t}\n\t}\n}"},
		"on one line":             {`{"b":1, "auths":{"other":{}} ,"a":2}`, `{"b":1, "auths":{"other":{},"host":{"auth":"x"}} ,"a":2}`},
		"no auths, on one line":   {`{"b": 1}`, `{"b": 1,"auths":{"host":{"auth":"x"}}}`},
		"null":                    {`{"auths": null}`, `{"auths": {"host":{"auth":"x"}}}`},
		"replaced":                {`{"auths": {"host": {"auth":"old","identitytoken":"t"}, "other": 1}}`, `{"auths": {"host": {"auth":"x"}, "other": 1}}`},
		"two spaces":              {"{\n  \"z\": 1,\n  \"auths\": {}\n}", "{\n  \"z\": 1,\n  \"auths\": {\n    \"host\": {\n      \"auth\": \"x\"\n    }\n  }\n}"},
		"lines of Windows":        {"{\r\n\t\"z\": 1\r\n}\r\n", "{\r\n\t\"z\": 1,\r\n\t\"auths\": {\r\n\t\t\"host\": {\r\n\t\t\t\"auth\": \"x\"\r\n\t\t}\r\n\t}\r\n}\r\n"},
		"numbers and escapes":     {`{"n": 1e400, "u": "\u00e4\/", "auths": {}}`, `{"n": 1e400, "u": "\u00e4\/", "auths": {"host":{"auth":"x"}}}`},
		"a key spelled by escape": {`{"auths": {"\u0068ost": 1}}`, `{"auths": {"\u0068ost": {"auth":"x"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := credentials.SetMember([]byte(test.text), []byte(`{"auth":"x"}`), "auths", "host")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestRemoveMember(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"nothing":     {"", ""},
		"no auths":    {`{ "a":1 }`, `{ "a":1 }`},
		"not there":   {`{"auths": { "other": 1 }}`, `{"auths": { "other": 1 }}`},
		"null":        {`{"auths": null}`, `{"auths": null}`},
		"the only":    {"{\"auths\": {\n  \"host\": {}\n}, \"a\": 1}", `{"auths": {}, "a": 1}`},
		"the first":   {"{\"auths\": {\n  \"host\": {},\n  \"b\": 2\n}}", "{\"auths\": {\n  \"b\": 2\n}}"},
		"the last":    {"{\"auths\": {\n  \"b\": 2,\n  \"host\": {}\n}}", "{\"auths\": {\n  \"b\": 2\n}}"},
		"in between":  {`{"auths": {"a":1, "host":{}, "b":2}}`, `{"auths": {"a":1, "b":2}}`},
		"several":     {`{"auths": {"host":1, "b":2, "host":3}}`, `{"auths": {"b":2}}`},
		"named twice": {`{"auths": {"a":{"host":1}, "host":{"host":2}}}`, `{"auths": {"a":{"host":1}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := credentials.RemoveMember([]byte(test.text), "auths", "host")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestInvalidJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`[]`, `"text"`, `{"auths": []}`, `{"auths": 1}`} {
		if _, err := credentials.SetMember([]byte(text), []byte("1"), "auths", "host"); !errors.Is(err, credentials.ErrNoObject) {
			t.Errorf("set %s: %v", text, err)
		}
		if _, err := credentials.RemoveMember([]byte(text), "auths", "host"); !errors.Is(err, credentials.ErrNoObject) {
			t.Errorf("remove %s: %v", text, err)
		}
	}
	for _, text := range []string{`{"auths": {}, "auths": {}}`, `{"auths": {"host": 1, "host": 2}}`} {
		_, err := credentials.SetMember([]byte(text), []byte("1"), "auths", "host")
		if !errors.Is(err, credentials.ErrDuplicate) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{`{`, `{"auths": {}} {}`, `{"auths": {,}}`} {
		_, err := credentials.SetMember([]byte(text), []byte("1"), "auths", "host")
		if _, ok := errors.AsType[*json.SyntaxError](err); !ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzSetMember sets a member of an object. All other members must be unchanged, and
// removing the new member must restore the object.
func FuzzSetMember(f *testing.F) {
	for _, text := range []string{`{}`, ``, `{"auths":{"host":{"auth":"x"},"b":[1,{}]},"c":null}`, "{\n  \"auths\": null\n}", `{"a":{"auths":1},"auths":{"":2}}`} {
		f.Add(text, "host")
	}
	f.Fuzz(func(t *testing.T, text, key string) {
		key = strings.ToValidUTF8(key, "")
		set, err := credentials.SetMember([]byte(text), []byte(`{"auth":"new"}`), "auths", key)
		if err != nil {
			return
		}
		before, after := membersOf(t, text), membersOf(t, string(set))
		auths, others := after["auths"].(map[string]any), map[string]any{}
		if was, ok := before["auths"].(map[string]any); ok {
			others = was
		}
		if diff := cmp.Diff(map[string]any{"auth": "new"}, auths[key]); diff != "" {
			t.Fatalf("%s\n%s", set, diff)
		}
		delete(auths, key)
		delete(others, key)
		removed, err := credentials.RemoveMember(set, "auths", key)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(after, membersOf(t, string(removed))); diff != "" {
			t.Fatalf("%s\n%s", removed, diff)
		}
		before["auths"] = others
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatalf("%s\n%s", set, diff)
		}
	})
}

func membersOf(t *testing.T, text string) map[string]any {
	t.Helper()
	members := map[string]any{}
	if strings.TrimSpace(text) == "" {
		return members
	}
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return members
}
