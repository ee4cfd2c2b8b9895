package hostile

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

// Every protocol that peers have is attacked where it is answered, also with requests that its handler reads.
func TestEveryProtocolIsAttacked(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../../sdk/messages/protocols.go", nil, 0)
	require.NoError(t, err)
	var all []string
	ast.Inspect(file, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
			id, err := strconv.Unquote(text.Value)
			require.NoError(t, err)
			if strings.HasPrefix(id, "/gantry/") {
				all = append(all, id)
			}
		}
		return true
	})
	require.Greater(t, len(all), 20)
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	a := &attacker{setup: setup{Key: key, Turn: time.Minute, PeriodSecs: 10}}
	var listed, asked []string
	for _, k := range []kind{aKeeper, aMachine, aGateway} {
		to := target{kind: k}
		listed = append(listed, to.protocols()...)
		for _, r := range a.wellFormed(to) {
			asked = append(asked, r.protocol)
		}
	}
	for _, list := range [][]string{all, listed, asked} {
		slices.Sort(list)
	}
	require.Equal(t, all, listed)
	require.Equal(t, all, asked)
}
