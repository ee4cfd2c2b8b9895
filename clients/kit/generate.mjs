// Generates the clients for @solana/kit and for Rust from the committed interface description of the program.
//
// It is rootNodeFromAnchor without two of its steps. Those put the fields of a structure that only one instruction takes in place of the argument, which
// fails where two fields have one name (fraud_proof_leaf: leaf, and place.leaf). Arguments stay as the description has them.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { extractPdasVisitor, rootNodeFromAnchorWithoutDefaultVisitor } from '@codama/nodes-from-anchor';
import { renderVisitor as renderKit } from '@codama/renderers-js';
import { renderVisitor as renderRust } from '@codama/renderers-rust';
import {
  bottomUpTransformerVisitor, createFromRoot, deduplicateIdenticalDefinedTypesVisitor, getCommonInstructionAccountDefaultRules, setFixedAccountSizesVisitor,
  setInstructionAccountDefaultValuesVisitor, transformU8ArraysToBytesVisitor,
} from 'codama';

// Codama names an address by the account that has it, so that one name would stand for two kinds of addresses.
const addresses = { fault: 'outageFault', keeperActivateStakeVault: 'keeperStakeVault', leaseMigrateLease: 'movedLease' };
// In TypeScript an account X has the type XArgs too.
const types = { gpuModelArgs: 'gpuModelArguments', orderArgs: 'orderArguments' };

const renamed = (kinds, names) => bottomUpTransformerVisitor(kinds.map((kind) => ({ select: `[${kind}]`, transform: (n) => (names[n.name] ? { ...n, name: names[n.name] } : n) })));
const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const codama = createFromRoot(rootNodeFromAnchorWithoutDefaultVisitor(JSON.parse(readFileSync(at('../../idl/gantry_market.json'), 'utf8'))));
for (const step of [
  extractPdasVisitor(), renamed(['pdaNode', 'pdaLinkNode'], addresses), deduplicateIdenticalDefinedTypesVisitor(), renamed(['definedTypeNode', 'definedTypeLinkNode'], types),
  setFixedAccountSizesVisitor(), setInstructionAccountDefaultValuesVisitor(getCommonInstructionAccountDefaultRules()), transformU8ArraysToBytesVisitor(),
]) codama.update(step);
await codama.accept(renderKit(at('src/generated')));
await codama.accept(renderRust(at('../rust'), { generatedFolder: 'src/generated' }));
