//go:build race

package processor

// raced: the race detector runs this code ten times slower, and a computer's load then slows it several times more. Figures
// of such a build are not those of a program that anybody runs.
const raced = true
