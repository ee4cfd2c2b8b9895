package measure

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"
)

// atOrders are profiles of GPUs, with walks as many as they make.
var atOrders = []struct {
	name  string
	p     Profile
	walks uint32
}{
	{"n=8192", Profile{Order: 8192, Fold: 4, Rows: 1 << 17, ChainMs: 15000, Resident: 67, WalkMs: 1500, Lanes: 1 << 17}, 3},
	{"n=16384", Profile{Order: 16384, Fold: 2, Rows: 1 << 18, ChainMs: 15000, Resident: 40, WalkMs: 1500, Lanes: 1 << 17}, 6},
}

// honest is what a machine of a profile would show of 600 rounds, made by computing only that: the leaves of one tree
// that are opened, and walks with random items before the opened ones. Paths are those of trees with one leaf each, so
// that the verifier hashes as much as it would; it is handed the roots to which they lead.
type honest struct {
	v      *Verifier
	leaves []openedLeaf
	draw   Draw
	walks  []openedWalk
}

func newHonest(b testing.TB, p Profile, walks uint32) honest {
	b.Helper()
	return newHonestOf(b, p, 600, walks)
}

func newHonestOf(b testing.TB, p Profile, rounds int, walks uint32) honest {
	b.Helper()
	roots := make([]Hash, rounds)
	for r := range roots {
		roots[r] = sha256.Sum256([]byte(fmt.Sprint("root", r)))
	}
	task := NewTask(Place{}, 0, p)
	e := Entry{Profile: p.Hash(), Rounds: uint32(len(roots)), LastRoot: roots[len(roots)-1], RoundsRoot: RoundsRoot(roots), Walks: walks}
	v, err := NewVerifier(task, NewColumns(task.Columns, p.Order), e, roots)
	if err != nil {
		b.Fatal(err)
	}
	h := honest{v: v, draw: Draw(sha256.Sum256([]byte("draw")))}
	for o, at := range h.draw.Leaves(p, e.Rounds) {
		l := openedLeaf{LeafAt: at, LeafOpening: LeafOpening{Path: make([]Hash, p.LeafDepth())}}
		v.expand(at.Round, at.Leaf/p.RowLeaves())
		row, column := make([]int8, p.Order), make([]int8, p.Order)
		k := RowKey(RoundSeed(task.Nonce, at.Round, v.before(at.Round)), at.Leaf/p.RowLeaves())
		k.Expand(row)
		for _, g := range h.draw.Cells(o) {
			var group []int32
			for j := range uint32(p.Fold) {
				key := v.columns.keys[(at.Leaf%p.RowLeaves()*LeafBytes+uint32(g))*uint32(p.Fold)+j]
				Key{key[0], key[1]}.Expand(column)
				group = append(group, Dot(row, column))
			}
			l.Bytes[g] = Mixed(group)
		}
		h.leaves = append(h.leaves, l)
	}
	for i, at := range h.draw.Walks(p, walks) {
		h.walks = append(h.walks, openedWalk{at, WalkOpening{
			WalkEnds: WalkEnds{Start: State{uint64(i), 5}, Path: make([]Hash, Depth(walks))},
			LanePath: make([]Hash, Depth(p.Lanes)),
		}})
	}
	return h
}

// BenchmarkCells is the check of the cells of one answer, BenchmarkSteps that of the steps of its walks, BenchmarkPaths
// that of its paths and of all roots: together they are what a check of one GPU takes a member.
func BenchmarkCells(b *testing.B) {
	for _, c := range atOrders {
		b.Run(c.name, func(b *testing.B) {
			h := newHonest(b, c.p, c.walks)
			for b.Loop() {
				for o, l := range h.leaves {
					if err := h.v.cells(l, h.draw.Cells(o)); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkSteps(b *testing.B) {
	for _, c := range atOrders {
		b.Run(c.name, func(b *testing.B) {
			h := newHonest(b, c.p, c.walks)
			for b.Loop() {
				for _, w := range h.walks {
					if _, err := h.v.walk(context.Background(), w); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkPaths(b *testing.B) {
	for _, c := range atOrders {
		b.Run(c.name, func(b *testing.B) {
			h := newHonest(b, c.p, c.walks)
			for b.Loop() {
				if err := CheckRoots(h.v.entry, h.v.roots, nil); err != nil {
					b.Fatal(err)
				}
				for _, l := range h.leaves {
					Climb(LeafHash(&l.Bytes), l.Leaf, l.Path)
				}
				for _, w := range h.walks {
					if err := h.v.linked(w); err == nil {
						b.Fatal("a walk of no tree is linked")
					}
				}
			}
			b.ReportMetric(float64(AnswerBytes(c.p, c.walks, h.draw)), "answer-B")
		})
	}
}

// BenchmarkColumnKeys is what is done once a period, for all nodes of one order.
func BenchmarkColumnKeys(b *testing.B) {
	for b.Loop() {
		NewColumns(Hash{1}, MaxOrder)
	}
}
