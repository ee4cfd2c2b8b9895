//go:build linux && !race

package match_test

import (
	"bytes"
	"encoding/gob"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testtool"
	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/sdk/market"
)

// sqliteWork is a database to make, and the questions to ask it: the type work of gantry-testreader.
type sqliteWork struct {
	Schema, Insert, Indexes string
	Rows                    [][]any
	Queries                 []sqliteQuery
	Change                  string
	Changes                 [][]any
	Each                    int
	For                     time.Duration
}

type sqliteQuery struct {
	SQL  string
	Args []any
	Then string
	Slot int
	More []any
}

// sqliteDone has the answers and the processor time of each.
type sqliteDone struct {
	Answers [][]uint64
	Took    []time.Duration
}

const schema = `
CREATE TABLE nodes(id BLOB, model INT, tflops INT, price INT, score INT, rep INT, free INT, vram INT, inter INT, tier INT, sim INT,
  region TEXT, site BLOB, uptime INT);
`

const indexes = `
CREATE INDEX by_model ON nodes(model, score, rep DESC, free, price, inter, tier, region, uptime, vram, sim);
CREATE INDEX by_place ON nodes(model, region, score, rep DESC, free, price, inter, tier, uptime, vram, sim);
CREATE INDEX by_score ON nodes(score, rep DESC, free, price, tflops, inter, tier, region, uptime, vram, sim);
CREATE INDEX by_site ON nodes(model, site, score, rep DESC, free, price, inter, tier, region, uptime, vram, sim);
ANALYZE;
`

const filter = `price <= ? AND free >= ? AND inter >= ? AND tier >= ? AND uptime >= ? AND rep >= ? AND vram >= ? AND sim <= ?
  AND region >= ? AND region < ?`

const (
	ofModel = `SELECT score FROM nodes WHERE model = ? AND ` + filter + ` ORDER BY score, rep DESC LIMIT ?`
	ofAny   = `SELECT score FROM nodes WHERE tflops >= ? AND ` + filter + ` ORDER BY score, rep DESC LIMIT ?`
	ofSite  = `SELECT site FROM (SELECT site, score, ROW_NUMBER() OVER (PARTITION BY site ORDER BY score, rep DESC) AS n FROM nodes
			WHERE (model = ?1 OR ?1 = 0) AND tflops >= ?2 AND price <= ?3 AND free >= ?4 AND inter >= ?5 AND tier >= ?6 AND uptime >= ?7
			AND rep >= ?8 AND vram >= ?9 AND sim <= ?10 AND region >= ?11 AND region < ?12 AND site <> x'')
			WHERE n <= ?13 GROUP BY site HAVING COUNT(*) = ?13 ORDER BY SUM(score), site LIMIT 1`
	atSite = `SELECT score FROM nodes WHERE (model = ? OR ? = 0) AND tflops >= ? AND site = ? AND ` + filter + ` ORDER BY score, rep DESC LIMIT ?`
)

// sqlite asks SQLite, in a process of its own, which nodes are best for orders, each at least once and for so long. It
// has the market in memory, with the indexes that these queries want, and only the nodes that could be awarded at all.
// Scores and reputations are worked out once, so that it need not follow the time, and ties are left open: both in its
// favour.
func (w *drawnMarket) sqlite(b *testing.B, orders []match.Query, long time.Duration) sqliteDone {
	b.Helper()
	return w.sqliteChanging(b, orders, long, nil)
}

// sqliteChanging is sqlite with so many changes after each order, in turn, whose time is the order's.
func (w *drawnMarket) sqliteChanging(b *testing.B, orders []match.Query, long time.Duration, changes []change) sqliteDone {
	b.Helper()
	work := sqliteWork{Schema: schema, Insert: `INSERT INTO nodes VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)`, Indexes: indexes, For: long}
	if len(changes) > 0 {
		work.Indexes = `CREATE UNIQUE INDEX by_id ON nodes(id);` + indexes
		work.Change, work.Each = `UPDATE nodes SET price = ?, score = ?, free = ? WHERE id = ?`, changesEach
		for _, c := range changes {
			n := c.of(w.nodeList[c.node])
			score, err := n.Score(start, start)
			require.NoError(b, err)
			work.Changes = append(work.Changes, []any{int64(n.Price), int64(score), int64(n.FreeGPUs()), n.Address[:]})
		}
	}
	for _, n := range w.nodeList {
		m := w.models[n.Spec.Model]
		if n.State() != market.NodeActive || !n.Covered() || n.Tier < m.MinTier {
			continue
		}
		score, err := n.Score(start, start)
		require.NoError(b, err)
		work.Rows = append(work.Rows, []any{
			n.Address[:], int64(n.Spec.Model), int64(m.TflopsX10), int64(n.Price), int64(score), int64(n.Reputation(start)), int64(n.FreeGPUs()), int64(n.Spec.VramMib),
			int64(n.Spec.Interconnect), int64(n.Tier), int64(n.Spec.Simulated), n.Region(), bytes.TrimRight(n.Spec.Site[:], "\x00"), int64(n.UptimeBps),
		})
	}
	for _, q := range orders {
		work.Queries = append(work.Queries, sqliteQueryOf(q))
	}
	var in bytes.Buffer
	require.NoError(b, gob.NewEncoder(&in).Encode(work))
	out, err := testtool.Run(b.Context(), &in, "sqlite")
	require.NoError(b, err)
	var done sqliteDone
	require.NoError(b, gob.NewDecoder(bytes.NewReader(out)).Decode(&done))
	require.Len(b, done.Answers, len(orders))
	return done
}

func sqliteQueryOf(q match.Query) sqliteQuery {
	r := q.Requirement
	from := market.Text(r.Region[:])
	args := []any{
		int64(q.MaxPrice), int64(q.GPUs), int64(r.MinInterconnect), int64(r.MinTier), int64(r.MinUptimeBps), int64(r.MinReputationBps), int64(r.MinVramMib), int64(r.AllowSimulated),
		from, from + "\xff",
	}
	if from == "" {
		args[9] = "\xff"
	}
	model, tflops, nodes := int64(r.Models[0]), int64(r.MinTflopsX10), int64(q.Nodes)
	switch {
	case r.SameSite != 0:
		return sqliteQuery{
			SQL: ofSite, Args: append(append([]any{model, tflops}, args...), nodes),
			Then: atSite, Slot: 3, More: append(append([]any{model, model, tflops, []byte(nil)}, args...), nodes),
		}
	case !market.AnyModel(&r):
		return sqliteQuery{SQL: ofModel, Args: append(append([]any{model}, args...), nodes)}
	}
	return sqliteQuery{SQL: ofAny, Args: append(append([]any{tflops}, args...), nodes)}
}
