package class

// Sources, by title. Where a document gives int8 with sparsity only, half of it is the dense figure, as its footnotes
// say. Int32 is the number of 32-bit integer lanes times the boost clock: 64 a multiprocessor up to Hopper and Ada, 128
// in consumer Blackwell, by the architecture white papers; it equals FP32 TFLOPS/2 where all lanes do both and a
// quarter where half of them do.
const (
	a100Sheet = "NVIDIA A100 Tensor Core GPU data sheet (2021); NVIDIA A100 Tensor Core GPU Architecture white paper"
	a10Sheet  = "NVIDIA A10 Tensor Core GPU data sheet (2021); NVIDIA Ampere GA102 GPU Architecture white paper"
	h100Sheet = "NVIDIA H100 Tensor Core GPU data sheet (2022, 2024); NVIDIA H100 Tensor Core GPU Architecture white paper"
	h200Sheet = "NVIDIA H200 Tensor Core GPU data sheet (2024)"
	b200Sheet = "NVIDIA HGX B200 (HGX platform data sheet, 2024), an eighth of the board; DGX B200 data sheet for memory"
	l40sSheet = "NVIDIA L40S data sheet (2023); NVIDIA Ada GPU Architecture white paper"
	l4Sheet   = "NVIDIA L4 Tensor Core GPU data sheet (2023)"
	t4Sheet   = "NVIDIA T4 Tensor Core GPU data sheet (2019); NVIDIA Turing GPU Architecture white paper"
	ga102     = "NVIDIA Ampere GA102 GPU Architecture white paper, appendix A"
	ada       = "NVIDIA Ada GPU Architecture white paper, appendix A"
	blackwell = "NVIDIA RTX Blackwell GPU Architecture white paper, appendix A"
)

// classes are in alphabetical order. FP16 of GeForce models is with FP16 accumulation, as for the others; with FP32
// accumulation they reach half.
var classes = []Class{
	{Name: "A10-PCIe-24GB", Device: "NVIDIA A10", Int8: 250, FP16: 125, Int32: 7.8, VRAMMiB: 24_576, Bandwidth: 600, Source: a10Sheet},
	{Name: "A100-PCIe-40GB", Device: "NVIDIA A100-PCIE-40GB", Int8: 624, FP16: 312, Int32: 9.75, VRAMMiB: 40_960, Bandwidth: 1555, Source: a100Sheet},
	{Name: "A100-PCIe-80GB", Device: "NVIDIA A100 80GB PCIe", Int8: 624, FP16: 312, Int32: 9.75, VRAMMiB: 81_920, Bandwidth: 1935, Source: a100Sheet},
	{Name: "A100-SXM4-40GB", Device: "NVIDIA A100-SXM4-40GB", Int8: 624, FP16: 312, Int32: 9.75, VRAMMiB: 40_960, Bandwidth: 1555, Source: a100Sheet},
	{Name: "A100-SXM4-80GB", Device: "NVIDIA A100-SXM4-80GB", Int8: 624, FP16: 312, Int32: 9.75, VRAMMiB: 81_920, Bandwidth: 2039, Source: a100Sheet},
	{Name: "B200-SXM6-180GB", Device: "NVIDIA B200", Int8: 4500, FP16: 2250, Int32: 18.7, VRAMMiB: 184_320, Bandwidth: 8000, Source: b200Sheet},
	{Name: "H100-NVL-94GB", Device: "NVIDIA H100 NVL", Int8: 1670, FP16: 835, Int32: 15, VRAMMiB: 96_256, Bandwidth: 3938, Source: h100Sheet},
	{Name: "H100-PCIe-80GB", Device: "NVIDIA H100 PCIe", Int8: 1513, FP16: 756, Int32: 12.8, VRAMMiB: 81_920, Bandwidth: 2000, Source: h100Sheet},
	{Name: "H100-SXM5-80GB", Device: "NVIDIA H100 80GB HBM3", Int8: 1979, FP16: 989, Int32: 16.7, VRAMMiB: 81_920, Bandwidth: 3350, Source: h100Sheet},
	{Name: "H200-NVL-141GB", Device: "NVIDIA H200 NVL", Int8: 1670, FP16: 835, Int32: 15, VRAMMiB: 144_384, Bandwidth: 4800, Source: h200Sheet},
	{Name: "H200-SXM5-141GB", Device: "NVIDIA H200", Int8: 1979, FP16: 989, Int32: 16.7, VRAMMiB: 144_384, Bandwidth: 4800, Source: h200Sheet},
	{Name: "L4-PCIe-24GB", Device: "NVIDIA L4", Int8: 242, FP16: 121, Int32: 7.6, VRAMMiB: 24_576, Bandwidth: 300, Source: l4Sheet},
	{Name: "L40S-PCIe-48GB", Device: "NVIDIA L40S", Int8: 733, FP16: 362, Int32: 22.9, VRAMMiB: 49_152, Bandwidth: 864, Source: l40sSheet},
	{Name: "RTX-3090-24GB", Device: "NVIDIA GeForce RTX 3090", Int8: 284, FP16: 142, Int32: 8.9, VRAMMiB: 24_576, Bandwidth: 936, Source: ga102},
	{Name: "RTX-4090-24GB", Device: "NVIDIA GeForce RTX 4090", Int8: 660, FP16: 330, Int32: 20.6, VRAMMiB: 24_576, Bandwidth: 1008, Source: ada},
	{Name: "RTX-5090-32GB", Device: "NVIDIA GeForce RTX 5090", Int8: 838, FP16: 419, Int32: 52.4, VRAMMiB: 32_768, Bandwidth: 1792, Source: blackwell},
	{Name: "T4-PCIe-16GB", Device: "Tesla T4", Int8: 130, FP16: 65, Int32: 4, VRAMMiB: 16_384, Bandwidth: 320, Source: t4Sheet},
}
