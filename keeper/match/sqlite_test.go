//go:build linux && !race

package match_test

import (
	"bytes"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // a database to compare with

	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/sdk/market"
)

// table is the market in SQLite, in memory, with the indexes that these queries want. Scores and reputations are worked
// out once, so that it need not follow the time, and ties are left open: both in its favour.
type table struct {
	ofModel, ofAny, site *sql.Stmt
	atSite               *sql.Stmt
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

// sqlite fills the table with the nodes that could be awarded at all.
func (w *drawnMarket) sqlite(b *testing.B) *table {
	b.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	require.NoError(b, err)
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { _ = db.Close() })
	_, err = db.Exec(schema)
	require.NoError(b, err)
	tx, err := db.Begin()
	require.NoError(b, err)
	insert, err := tx.Prepare(`INSERT INTO nodes VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)`)
	require.NoError(b, err)
	for _, n := range w.nodeList {
		m := w.models[n.Spec.Model]
		if n.State() != market.NodeActive || !n.Covered() || n.Tier < m.MinTier {
			continue
		}
		score, err := n.Score(start)
		require.NoError(b, err)
		_, err = insert.Exec(n.Address[:], n.Spec.Model, m.TflopsX10, int64(n.Price), int64(score), n.Reputation(start), n.FreeGPUs(), n.Spec.VramMib,
			n.Spec.Interconnect, n.Tier, n.Spec.Simulated, n.Region(), bytes.TrimRight(n.Spec.Site[:], "\x00"), n.UptimeBps)
		require.NoError(b, err)
	}
	require.NoError(b, tx.Commit())
	_, err = db.Exec(indexes)
	require.NoError(b, err)
	prepare := func(q string) *sql.Stmt {
		s, err := db.Prepare(q)
		require.NoError(b, err)
		return s
	}
	return &table{
		ofModel: prepare(`SELECT score FROM nodes WHERE model = ? AND ` + filter + ` ORDER BY score, rep DESC LIMIT ?`),
		ofAny:   prepare(`SELECT score FROM nodes WHERE tflops >= ? AND ` + filter + ` ORDER BY score, rep DESC LIMIT ?`),
		site: prepare(`SELECT site FROM (SELECT site, score, ROW_NUMBER() OVER (PARTITION BY site ORDER BY score, rep DESC) AS n FROM nodes
			WHERE (model = ?1 OR ?1 = 0) AND tflops >= ?2 AND price <= ?3 AND free >= ?4 AND inter >= ?5 AND tier >= ?6 AND uptime >= ?7
			AND rep >= ?8 AND vram >= ?9 AND sim <= ?10 AND region >= ?11 AND region < ?12 AND site <> x'')
			WHERE n <= ?13 GROUP BY site HAVING COUNT(*) = ?13 ORDER BY SUM(score), site LIMIT 1`),
		atSite: prepare(`SELECT score FROM nodes WHERE (model = ? OR ? = 0) AND tflops >= ? AND site = ? AND ` + filter + ` ORDER BY score, rep DESC LIMIT ?`),
	}
}

func (t *table) best(b *testing.B, q match.Query) []uint64 {
	r := q.Requirement
	from := market.Text(r.Region[:])
	args := []any{
		int64(q.MaxPrice), q.GPUs, r.MinInterconnect, r.MinTier, r.MinUptimeBps, r.MinReputationBps, r.MinVramMib, r.AllowSimulated, from, from + "\xff",
	}
	if from == "" {
		args[9] = "\xff"
	}
	switch {
	case r.SameSite != 0:
		var site []byte
		err := t.site.QueryRow(append(append([]any{r.Model, r.MinTflopsX10}, args...), q.Nodes)...).Scan(&site)
		if err != nil {
			require.ErrorIs(b, err, sql.ErrNoRows)
			return nil
		}
		return read(b, t.atSite, append(append([]any{r.Model, r.Model, r.MinTflopsX10, site}, args...), q.Nodes))
	case r.Model != 0:
		return read(b, t.ofModel, append(append([]any{r.Model}, args...), q.Nodes))
	}
	return read(b, t.ofAny, append(append([]any{r.MinTflopsX10}, args...), q.Nodes))
}

func read(b *testing.B, s *sql.Stmt, args []any) (out []uint64) {
	rows, err := s.Query(args...)
	require.NoError(b, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var n int64
		require.NoError(b, rows.Scan(&n))
		out = append(out, uint64(n))
	}
	require.NoError(b, rows.Err())
	return out
}
