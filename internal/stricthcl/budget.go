package stricthcl

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const (
	// maxTokens is the maximum number of tokens in a document. The parsers keep all
	// tokens and use up to 400 bytes for each token, so the maximum requires about 200
	// MiB.
	maxTokens = 512 << 10
	// maxAllTokens is the maximum number of tokens in all documents of a budget.
	// Parsing a million tokens takes a few seconds.
	maxAllTokens = 2 << 20
	// maxJoining limits the estimated time for joining the pieces of literals in all
	// documents of a budget. The unit is about one nanosecond.
	maxJoining = 1 << 30
	// chunk is the number of bytes that are tokenized at a time.
	chunk = 64 << 10
)

var tooDeep = fmt.Sprintf("brackets are nested more than %d levels deep", maxDepth)

// Budget limits the work of parsing documents in HCL 2. The zero value is a full
// budget. A Budget must not be used concurrently.
type Budget struct {
	tokens, joining int
}

// Check returns an *[Error] if a document in HCL 2's native syntax exceeds a limit. It
// limits the number of tokens, the depth of brackets and templates, the operators in an
// expression, and the pieces of literals. Check ignores syntax errors, because the
// parser reports them.
func (b *Budget) Check(file string, data []byte) error {
	s := syntax{file: file, budget: b, open: []expression{{lines: true}}}
	pos, size := hcl.InitialPos, chunk
	for end := 0; end < len(data); {
		end = min(pos.Byte+size, len(data))
		tokens, _ := hclsyntax.LexConfig(data[pos.Byte:end], "", pos)
		if problem := b.exceeded(s.tokens + len(tokens)); problem != "" {
			return s.fail(tokens[len(tokens)-1], problem)
		}
		if end < len(data) {
			// The last line can be incomplete.
			if tokens = completeLines(tokens); len(tokens) == 0 {
				size *= 2
				continue
			}
		}
		for _, t := range tokens {
			if problem := s.next(t); problem != "" {
				return s.fail(t, problem)
			}
		}
		s.tokens += len(tokens)
		pos, size = tokens[len(tokens)-1].Range.End, chunk
	}
	b.tokens += s.tokens
	return nil
}

// CheckJSON returns an *[Error] if a document in HCL 2's JSON syntax exceeds the limit
// for tokens or for the depth of brackets. CheckJSON ignores syntax errors, because the
// parser reports them.
func (b *Budget) CheckJSON(file string, data []byte) error {
	depth, tokens, line, start, quoted, word := 0, 0, 1, 0, false, false
	for i := 0; i < len(data); i++ {
		c := data[i]
		inWord := word
		word = false
		switch {
		case c == '\n':
			line, start = line+1, i+1
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
			tokens++
		case quoted || c == ' ' || c == '\t' || c == '\r':
		case c == '{' || c == '[':
			depth++
			tokens++
		case c == '}' || c == ']':
			depth--
			tokens++
		case c == ',' || c == ':':
			tokens++
		default:
			if word = true; !inWord {
				tokens++
			}
		}
		problem := b.exceeded(tokens)
		if depth > maxDepth {
			problem = tooDeep
		}
		if problem != "" {
			return &Error{Position: Position{file, line, i - start + 1}, Problem: problem}
		}
	}
	b.tokens += tokens
	return nil
}

// exceeded describes the limit that a document's number of tokens exceeds. If the
// number is within the limits, it returns "".
func (b *Budget) exceeded(tokens int) string {
	switch {
	case tokens > maxTokens:
		return fmt.Sprintf("text exceeds %d tokens", maxTokens)
	case b.tokens+tokens > maxAllTokens:
		return fmt.Sprintf("the files exceed %d tokens in total", maxAllTokens)
	}
	return ""
}

// completeLines returns the tokens up to the last newline outside templates and
// comments. After this newline, the lexer can restart.
func completeLines(tokens hclsyntax.Tokens) hclsyntax.Tokens {
	end, templates := 0, 0
	for i, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenStar:
			// The lexer splits an unclosed comment into several tokens.
			if i > 0 && tokens[i-1].Type == hclsyntax.TokenSlash && tokens[i-1].Range.End.Byte == t.Range.Start.Byte {
				return tokens[:end]
			}
		case hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			templates++
		case hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			templates--
		case hclsyntax.TokenNewline:
			if templates == 0 {
				end = i + 1
			}
		}
	}
	return tokens[:end]
}

// syntax tracks a document's state while the document is tokenized.
type syntax struct {
	file   string
	budget *Budget
	tokens int
	// open contains an entry for the document itself and an entry for each open
	// bracket.
	open []expression
	// templates contains an entry for each open template.
	templates []literals
}

// expression counts the operators since the last comma. If newlines end expressions, a
// newline also resets the count.
type expression struct {
	operators int
	lines     bool
}

// literals tracks the cost of joining the pieces of a template's literals. The lexer
// returns each line of a heredoc and each "$" as a separate piece.
type literals struct {
	parts, joins int
	// last is the length of the literal to which the next piece is appended.
	last int
}

func (s *syntax) fail(at hclsyntax.Token, problem string) error {
	return &Error{Position: Position{s.file, at.Range.Start.Line, at.Range.Start.Column}, Problem: problem}
}

// next processes a token. It describes the limit that the token exceeds. If the token
// is within the limits, next returns "".
func (s *syntax) next(t hclsyntax.Token) string {
	last := &s.open[len(s.open)-1]
	switch t.Type {
	case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenTemplateControl:
		last.operators++ // indexes, as in a[0][0], and unclosed %{if} nest like operators
		s.open = append(s.open, expression{lines: t.Type == hclsyntax.TokenOBrace})
	case hclsyntax.TokenTemplateInterp:
		s.open = append(s.open, expression{})
	case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd:
		s.open = s.open[:max(len(s.open)-1, 1)]
	case hclsyntax.TokenComma:
		last.operators = 0
	case hclsyntax.TokenNewline:
		if last.lines {
			last.operators = 0
		}
	case hclsyntax.TokenIdent, hclsyntax.TokenEqual, hclsyntax.TokenComment, hclsyntax.TokenNumberLit,
		hclsyntax.TokenOQuote, hclsyntax.TokenCQuote, hclsyntax.TokenQuotedLit, hclsyntax.TokenOHeredoc, hclsyntax.TokenCHeredoc, hclsyntax.TokenStringLit:
	default:
		last.operators++
	}
	s.join(t)
	switch {
	case len(s.open)-1 > maxDepth:
		return tooDeep
	case last.operators > maxOperators:
		return fmt.Sprintf("expression exceeds %d operators", maxOperators)
	case s.budget.joining > maxJoining:
		return "literals have too many pieces, such as lines of a heredoc"
	}
	return ""
}

// join adds the cost of a template's token to the budget.
func (s *syntax) join(t hclsyntax.Token) {
	if t.Type == hclsyntax.TokenOQuote || t.Type == hclsyntax.TokenOHeredoc {
		s.templates = append(s.templates, literals{})
	}
	if len(s.templates) == 0 {
		return
	}
	l := &s.templates[len(s.templates)-1]
	switch t.Type {
	case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		l.parts++
		l.last = 0
	case hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit:
		l.parts++
		if l.last > 0 {
			l.joins++
			s.budget.joining += l.last
		}
		l.last += len(t.Bytes)
	case hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
		// When a joined piece is removed from the list of pieces, all following pieces
		// move.
		s.budget.joining += l.joins * l.parts
		s.templates = s.templates[:len(s.templates)-1]
	}
}
