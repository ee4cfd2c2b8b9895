package match

import "math"

// tournament keeps numbers by index so that the least are found first: a binary tree whose nodes hold the least below them. The zero
// value holds none.
type tournament struct {
	least []uint64 // least[1] is the root, and the numbers are from half on
}

// set sets a number; math.MaxUint64 takes it out.
func (t *tournament) set(i int, to uint64) {
	for len(t.least)/2 <= i {
		t.grow()
	}
	at := len(t.least)/2 + i
	t.least[at] = to
	for at /= 2; at > 0; at /= 2 {
		to = min(t.least[2*at], t.least[2*at+1])
		if t.least[at] == to {
			return
		}
		t.least[at] = to
	}
}

// grow makes room for twice as many.
func (t *tournament) grow() {
	old := t.least[len(t.least)/2:]
	t.least = make([]uint64, max(4, 4*len(old)))
	half := len(t.least) / 2
	for i := range t.least {
		t.least[i] = math.MaxUint64
	}
	copy(t.least[half:], old)
	for at := half - 1; at > 0; at-- {
		t.least[at] = min(t.least[2*at], t.least[2*at+1])
	}
}

// branch is a part of a tournament in which a search has not looked.
type branch struct {
	least uint64
	group *group
	at    int
}

// frontier is branches, those with the least first: a heap.
type frontier []branch

func (f *frontier) push(b branch) {
	h := append(*f, b)
	i := len(h) - 1
	for i > 0 && h[(i-1)/2].least > h[i].least {
		h[(i-1)/2], h[i] = h[i], h[(i-1)/2]
		i = (i - 1) / 2
	}
	*f = h
}

func (f *frontier) pop() branch {
	h := *f
	top, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].least < h[child].least {
			child++
		}
		if h[i].least <= h[child].least {
			break
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
	*f = h
	return top
}

// next takes the class with the least head of GPUs out of the frontier; false where none is left up to most.
func (f *frontier) next(gpus uint8, most uint64) (c *class, head uint64, ok bool) {
	if len(*f) == 0 || (*f)[0].least > most || (*f)[0].least == math.MaxUint64 {
		return nil, 0, false
	}
	b := f.pop()
	tree := b.group.here.order[gpus].least
	for b.at < len(tree)/2 {
		low, high := 2*b.at, 2*b.at+1
		if tree[high] < tree[low] {
			low, high = high, low
		}
		if tree[high] != math.MaxUint64 {
			f.push(branch{tree[high], b.group, high})
		}
		b.at = low
	}
	return b.group.here.classes[b.at-len(tree)/2], b.least, true
}
