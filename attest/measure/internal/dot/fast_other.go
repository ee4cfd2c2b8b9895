//go:build !amd64

package dot

const fast = false

func expandAVX2(*int16, uint64, *[2]uint32) { panic("dot: no AVX2") }

func columnsAVX2(*int32, *int16, uint64, *[2]uint32, uint64) { panic("dot: no AVX2") }

func tileAVX2(*[8]int32, *int16, *int16, uint64) { panic("dot: no AVX2") }
