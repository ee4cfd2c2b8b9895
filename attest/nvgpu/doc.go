// Package nvgpu verifies attestation reports of NVIDIA GPUs in confidential computing mode: offline, against roots that
// are part of the program.
//
// # What is checked
//
//   - Form: the report is an SPDM 1.1 request for all measurements, signed, with the GPU's response; every length is exact and
//     nothing repeats. The chain is in its one PEM form.
//   - Nonce: the request carries [attest.Binding.GPU], so that the report answers this challenge.
//   - Certificates: each is signed by the next, up to NVIDIA's Device Identity CA, which is embedded; P-384 and SHA-384 throughout,
//     basic constraints, key usage, path lengths, validity. The key of the device in the attestation certificate is that of the
//     certificate which issued it.
//   - Signature: the attestation key signed request and response.
//   - Firmware id: the report's, if it states one (drivers from 550 on), is the attestation certificate's.
//   - Chip, board, driver, VBIOS and firmware id: as the [Policy] says.
//   - Revocation: lists and OCSP responses that the collateral has, signed by the issuer or by a responder of the issuer's, up to
//     date. Revoked or out of date is a failure.
//   - Measurements: the driver's and the VBIOS's reference manifest, signed by signers of NVIDIA's CoRIM root, of the versions that
//     the report states; every active golden measurement against the report's.
//
// A policy can require what else is only reported as not covered: manifests, revocation, the report's own firmware id.
//
// # What is not checked
//
//   - GPUs other than GH100 (H100, H200, H800, GH200): there was no sample of Blackwell, Ada or Ampere to test with. Blackwell's
//     certificates have another firmware id extension, which does not parse here. A [Policy] without chips accepts GH100 alone.
//   - NVSwitch reports, and so the fabric of protected PCIe mode; the CEC report that NVML returns beside the GPU's.
//   - Which host the GPU is in. A genuine report says that such a GPU exists and answered within the challenge's time. Only a
//     confidential VM's report that covers it ties it to a machine, see [attest.Binding].
//   - Debugging, directly: the report has no flag for it. NVIDIA's own verifier, too, takes "debugging is off" from the match with
//     the golden measurements; without manifests a result is never Confidential.
//   - The mode, with drivers that do not state it (no feature flag): NVML gives reports in confidential mode only, and the golden
//     measurements are those of that mode. [Policy].RequireFeature refuses such drivers.
//   - The form of a signature: whoever has r and s also has r and −s. A report's bytes are not its identity; the device's is
//     [Chain.DeviceID].
//   - The attestation certificate's revocation: the GPU issues it to its firmware; the certificates above it are asked about.
//
// # Collateral
//
//	nvgpu/rim/NV_GPU_DRIVER_<chip>_<driver>                        manifest, XML    [DriverRIMKey]
//	nvgpu/rim/NV_GPU_VBIOS_<project>_<sku>_<chip sku>_<version>    manifest, XML    [VBIOSRIMKey]
//	nvgpu/crl/<sha256 of the issuer's certificate>                 X.509 CRL, DER   [CRLKey]
//	nvgpu/ocsp/<sha256 of the certificate>                         OCSPResponse     [OCSPKey]
//
// What follows nvgpu/rim/ is the id by which NVIDIA's RIM service knows a manifest. Manifests are valid for as long as
// their signer's certificate is, two years for those seen; NVIDIA signs them anew.
//
// Sources: DMTF DSP0274 1.1 (SPDM), TCG DICE and RIM specifications, and the behaviour of NVIDIA's
// nv-local-gpu-verifier 2.7.3. All of it was run against two real GH100 reports and a real pair of manifests: see
// attest/testdata/README.md.
package nvgpu
