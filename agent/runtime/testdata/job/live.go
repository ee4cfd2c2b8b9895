package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// live counts in memory for ever, prints each number with a word that is drawn at the beginning, and writes it to a file of
// each folder.
func live(folders []string) {
	word := rand.Text()
	for n := 0; ; n++ {
		for _, folder := range folders {
			if err := os.WriteFile(filepath.Join(folder, "count"), fmt.Append(nil, n), 0o600); err != nil {
				fmt.Println("live", err)
				os.Exit(1)
			}
		}
		fmt.Println("live", word, n)
		time.Sleep(20 * time.Millisecond)
	}
}
