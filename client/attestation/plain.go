package attestation

import (
	"slices"
	"strings"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/attest/nvgpu"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/attest/snp"
	"github.com/gantry-market/gantry/attest/tdx"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/client/service"
)

// words are a check's outcomes in plain words: holds where it has passed, else where it has not. A check without words of
// its own is named as it is.
type words struct{ holds, fails string }

// bundled is how an answer names the checks of the bundle itself.
const bundled = "bundle"

// said has the words of the checks that people need to understand a verdict. Checks that only say how something was
// encoded have none, and stand in the whole list alone.
var said = map[[2]string]words{
	{bundled, policy.CheckNodeSignature}: {"The key that this machine has on chain signed the answer.", "The answer is not signed by the key that this machine has on chain."},
	{bundled, policy.CheckFreshness}:     {"The answer was made for this question, now.", "The answer was not made now."},
	{bundled, policy.CheckTPMBinding}:    {"The TPM signed this question and everything else in the answer.", ""},
	{bundled, policy.CheckTEEBinding}:    {"The confidential machine's processor vouches for everything else in the answer.", ""},
	{bundled, policy.CheckEveryGPU}:      {"Each GPU has sent a report of its own.", "Not every GPU has sent a report of its own."},
	{bundled, policy.CheckDistinct}:      {"No GPU has reported for another one.", "One GPU has reported for two."},

	{attest.KindTPM.String(), tpm.CheckEKChain}:    {"The TPM is one of a maker that the policy trusts.", "The TPM is of no maker that the policy trusts."},
	{attest.KindTPM.String(), tpm.CheckActivation}: {"That TPM opened a secret that your side had just sealed to it.", "Nothing shows that the key that signed lives in that TPM."},
	{attest.KindTPM.String(), tpm.CheckSignature}:  {"The TPM's own key signed the machine's measurements.", "The measurements are not signed by the TPM's key."},
	{attest.KindTPM.String(), tpm.CheckFreshness}:  {"The measurements were signed for this question.", "The measurements were signed for another question: a replayed quote."},
	{attest.KindTPM.String(), tpm.CheckDigest}:     {"The values shown are those that the TPM signed.", "The values shown are not those that the TPM signed."},
	{attest.KindTPM.String(), tpm.CheckPCRPolicy}:  {"What the machine started with has values that the policy accepts.", "What the machine started with (firmware, kernel or command line) is not what the policy accepts."},
	{attest.KindTPM.String(), tpm.CheckLog}:        {"The firmware's log explains these values.", "The firmware's log does not explain these values."},
	{attest.KindTPM.String(), tpm.CheckSecureBoot}: {"The state of Secure Boot is known.", "Secure Boot is not as the policy asks."},
	{attest.KindTPM.String(), tpm.CheckRevocation}: {"The TPM's certificate is not revoked.", "The TPM's certificate is revoked."},

	{attest.KindGuest.String(), guest.CheckSignature}: {"The program that answers signed with a key that it made itself.", "The program that answers has not signed with a key of its own."},

	{attest.KindSNP.String(), snp.CheckChain}:       {"AMD's processor signed the report of the confidential machine.", "The report is not signed by a processor of AMD's."},
	{attest.KindSNP.String(), snp.CheckReportData}:  {"The report was made for this question.", "The report was made for another question."},
	{attest.KindSNP.String(), snp.CheckMeasurement}: {"The confidential machine started with an image that the policy names.", "The confidential machine started with an image that the policy does not name."},
	{attest.KindSNP.String(), snp.CheckDebug}:       {"Nobody can debug the confidential machine.", "The confidential machine can be debugged: its owner can read it."},
	{attest.KindSNP.String(), snp.CheckTCB}:         {"The processor's firmware is new enough.", "The processor's firmware is too old."},

	{attest.KindTDX.String(), tdx.CheckChain}:       {"Intel's processor signed the quote of the confidential machine.", "The quote is not signed by a processor of Intel's."},
	{attest.KindTDX.String(), tdx.CheckReportData}:  {"The quote was made for this question.", "The quote was made for another question."},
	{attest.KindTDX.String(), tdx.CheckMeasurement}: {"The confidential machine started with an image that the policy names.", "The confidential machine started with an image that the policy does not name."},
	{attest.KindTDX.String(), tdx.CheckDebug}:       {"Nobody can debug the confidential machine.", "The confidential machine can be debugged: its owner can read it."},
	{attest.KindTDX.String(), tdx.CheckTCB}:         {"The processor's firmware is new enough.", "The processor's firmware is too old."},

	{attest.KindNVGPU.String(), nvgpu.CheckSignature}:    {"The GPU signed its report with its own key.", "The report is not signed by the GPU."},
	{attest.KindNVGPU.String(), nvgpu.CheckChain}:        {"NVIDIA made that GPU.", "Nothing shows that NVIDIA made that GPU."},
	{attest.KindNVGPU.String(), nvgpu.CheckNonce}:        {"The GPU answered this question.", "The GPU's report answers another question."},
	{attest.KindNVGPU.String(), nvgpu.CheckMeasurements}: {"The GPU runs the firmware that NVIDIA published.", "The GPU does not run the firmware that NVIDIA published."},
	{attest.KindNVGPU.String(), nvgpu.CheckMode}:         {"The GPU is in confidential mode.", "The GPU is not in confidential mode."},
}

// limits are what no check of a kind of evidence can show.
func limits(e *Evidence) []string {
	has := map[string]bool{}
	for _, c := range e.Checks {
		has[c.Evidence] = true
	}
	confidential := has[attest.KindSNP.String()] || has[attest.KindTDX.String()]
	var out []string
	if has[attest.KindTPM.String()] {
		out = append(out, "That the TPM is in the machine with the GPUs: whoever runs the machine can ask a TPM elsewhere.")
		if !confidential {
			out = append(out, "That the machine's owner cannot read the job: a TPM shows how the machine started, and hides nothing from its owner.")
		}
	}
	if !confidential {
		out = append(out, "What the machine says of itself (GPUs, cores, memory): no confidential machine vouches for it.")
	}
	return append(out, "How fast the GPUs are: measure them with --verify.")
}

// summarise fills in the sentences of a verdict.
func summarise(s *service.Attestation, e *Evidence) {
	add := func(list *[]string, text string) {
		if text != "" && !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	for _, c := range e.Checks {
		w, ok := said[[2]string{kindOf(c.Evidence), c.Check}]
		switch c.Result {
		case attest.Passed.String():
			add(&s.Verified, w.holds)
		case attest.Failed.String():
			add(&s.Failed, failing(c))
		default:
			text := c.Evidence + ", " + c.Check + ": " + c.Detail
			if ok && w.fails != "" {
				text = "Not known whether this holds: " + w.holds + " (" + c.Detail + ")"
			}
			add(&s.NotCovered, text)
		}
	}
	for _, text := range limits(e) {
		add(&s.NotCovered, text)
	}
}

// failing is a check that does not hold, in words and with its detail.
func failing(c Check) string {
	if w := said[[2]string{kindOf(c.Evidence), c.Check}]; w.fails != "" {
		return w.fails + " (" + c.Detail + ")"
	}
	return c.Evidence + ", " + c.Check + ": " + c.Detail
}

// kindOf is the kind of a piece of evidence, without the number of its GPU.
func kindOf(name string) string {
	if gpu := attest.KindNVGPU.String(); strings.HasPrefix(name, gpu) {
		return gpu
	}
	return name
}

// plainProblem is the first check that does not hold, in plain words; "" where none failed.
func plainProblem(e *Evidence) string {
	for _, c := range e.Checks {
		if c.Result == attest.Failed.String() {
			return failing(c)
		}
	}
	return e.Problem
}
