package terminal

import (
	"cmp"
	"fmt"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/screen"
	"github.com/gantry-market/gantry/sdk/volumes"
)

// KeptVolumes are volumes that are kept, with the file that opens them.
type KeptVolumes struct {
	Volumes []volumes.KeptVolume `json:"volumes"`
	KeyFile string               `json:"keyFile"`
}

// WriteVolumes writes a list of volumes.
func WriteVolumes(w *Page, k *KeptVolumes) {
	if len(k.Volumes) == 0 {
		fmt.Fprintln(w, "no volume is kept; make one with: gantry deploy --image IMAGE --volume data:50GiB --keep")
		return
	}
	rows := make([][]string, len(k.Volumes))
	for i, v := range k.Volumes {
		size, at, files, used := "-", "-", "-", "-"
		if v.MiB > 0 {
			size = mebibytes(v.MiB)
		}
		if v.Newest != nil {
			at, files = service.When(v.Newest.At), Mebibytes(uint64(v.Newest.Bytes))
		}
		if v.UsedBy != nil {
			used = cmp.Or(v.UsedBy.Lease, v.UsedBy.Says)
			if v.UsedBy.Lease != "" && !w.Whole() {
				used = screen.Beginning(w.masked(used))
			}
		}
		if v.Unreadable != "" {
			used = v.Unreadable
		}
		rows[i] = []string{v.Name, size, at, files, Mebibytes(uint64(v.Stored)), cost(&v), used}
	}
	w.Table("VOLUME|>SIZE|NEWEST SNAPSHOT (UTC)|>ITS FILES~2|>IN THE BUCKET|>A MONTH~1|USED BY", rows)
	fmt.Fprintf(w, "they are opened by %s: keep a copy\n", k.KeyFile)
}

// WriteVolume writes one volume.
func WriteVolume(w *Page, v *volumes.KeptVolume) {
	rows := [][2]string{{"volume", v.Name}}
	if v.MiB > 0 {
		rows = append(rows, [2]string{"size", fmt.Sprintf("%s, at %s in the last container", mebibytes(v.MiB), v.Path)})
	}
	if n := v.Newest; n == nil {
		rows = append(rows, [2]string{"newest", "no snapshot: the next lease begins with an empty volume"})
	} else {
		rows = append(rows, [2]string{"newest", fmt.Sprintf("of %s UTC, %s in %s", service.When(n.At), Mebibytes(uint64(n.Bytes)), service.Plural(n.Files, "file"))},
			[2]string{"its hash", n.Hash})
	}
	rows = append(rows, [2]string{"stored", fmt.Sprintf("%s of %s", Mebibytes(uint64(v.Stored)), service.Plural(v.Snapshots, "snapshot"))})
	if v.Cost != "" {
		rows = append(rows, [2]string{"costs", cost(v) + " a month, by the price that you have set"})
	}
	if v.UsedBy != nil {
		rows = append(rows, [2]string{"used by", v.UsedBy.Says})
	}
	w.Pairs(rows...)
}

func cost(v *volumes.KeptVolume) string {
	if v.Cost == "" {
		return "-"
	}
	if v.Currency == "" {
		return v.Cost
	}
	return v.Cost + " " + v.Currency
}

func mebibytes(n uint64) string {
	if n >= 1<<10 && n%(1<<10) == 0 {
		return fmt.Sprintf("%d GiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n)
}
