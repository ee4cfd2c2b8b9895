package ociregistry

import (
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const (
	// MaxLayers of an image: a mount takes their names in one page of memory.
	MaxLayers = 100
	// OS and Architecture are those of machines: agents run on them alone.
	OS, Architecture = "linux", "amd64"
	// Base is the level of processors that every machine has, and TopLevel the highest
	// (https://en.wikipedia.org/wiki/X86-64#Microarchitecture_levels).
	Base, TopLevel = 1, 4
)

// LevelOf returns the level that a variant of the architecture asks of a processor; false for one that is not known.
func LevelOf(variant string) (int, bool) {
	switch variant {
	case "", "v1":
		return Base, true
	case "v2":
		return 2, true
	case "v3":
		return 3, true
	case "v4":
		return TopLevel, true
	}
	return 0, false
}

// Choose picks the image of a list that a processor of a level runs best: the highest variant that it has. One without a platform is taken
// where no other fits; its configuration says what it is for. Lists within lists are not followed: no registry needs them.
func Choose(list []v1.Descriptor, level int) (v1.Descriptor, bool) {
	var best v1.Descriptor
	found := -1 // its level; 0 for one without a platform
	for _, d := range list {
		if !d.MediaType.IsImage() {
			continue
		}
		of := 0
		if p := d.Platform; p != nil {
			l, known := LevelOf(p.Variant)
			if p.OS != OS || p.Architecture != Architecture || !known || l > level {
				continue
			}
			of = l
		}
		if of > found {
			best, found = d, of
		}
	}
	return best, found >= 0
}

// ChooseForAny picks the image of a list that most machines run: the lowest variant.
func ChooseForAny(list []v1.Descriptor) (d v1.Descriptor, found bool) {
	for level := Base; level <= TopLevel; level++ {
		if d, found = Choose(list, level); found && d.Platform != nil {
			return d, true
		}
	}
	return d, found
}
