// The generated client reads accounts and writes instructions as the Go bindings do: ../../vectors.json is from those.
const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { test } = require('node:test');
const { AccountRole, address, createNoopSigner, isSignerRole, isWritableRole } = require('@solana/kit');
const program = require('../dist');

const read = (...path) => JSON.parse(readFileSync(join(__dirname, '..', '..', ...path), 'utf8'));
const vectors = read('vectors.json');
const upper = (name) => name[0].toUpperCase() + name.slice(1);
const camel = (name) => name.replace(/_(\w)/g, (_, c) => c.toUpperCase());
const bytes = (text) => new Uint8Array(Buffer.from(text, 'base64'));
const hex = (raw) => Buffer.from(raw).toString('hex');

// plain is a decoded value as the vectors have it.
function plain(v) {
  if (v instanceof Uint8Array) return hex(v);
  if (Array.isArray(v)) return v.map(plain);
  if (typeof v === 'object') return Object.fromEntries(Object.entries(v).filter(([name]) => name !== 'discriminator').map(([name, x]) => [name, plain(x)]));
  return String(v);
}

for (const { kind, data, fields } of vectors.accounts) {
  test(`the account ${kind} has the fields that Go reads, and the same bytes when it is written`, () => {
    const decoded = program[`get${kind}Decoder`]().decode(bytes(data));
    assert.deepEqual(plain(decoded), fields);
    assert.equal(hex(program[`get${kind}Encoder`]().encode(decoded)), hex(bytes(data)));
  });
}

for (const [name, { accounts, data, args }] of Object.entries(vectors.instructions)) {
  test(`the instruction ${name} is the one that Go builds`, () => {
    const metas = accounts.map((a) => ({ address: address(a.address), role: a.signer ? (a.writable ? AccountRole.WRITABLE_SIGNER : AccountRole.READONLY_SIGNER) : a.writable ? AccountRole.WRITABLE : AccountRole.READONLY }));
    const parsed = program[`parse${upper(name)}Instruction`]({ programAddress: program.GANTRY_MARKET_PROGRAM_ADDRESS, accounts: metas, data: bytes(data) });
    assert.deepEqual(plain(parsed.data), args);
    const input = { ...parsed.data };
    for (const [of, a] of Object.entries(parsed.accounts)) input[of] = isSignerRole(a.role) ? createNoopSigner(a.address) : a.address;
    const built = program[`get${upper(name)}Instruction`](input);
    assert.equal(built.programAddress, program.GANTRY_MARKET_PROGRAM_ADDRESS);
    assert.equal(hex(built.data), hex(bytes(data)));
    assert.deepEqual(built.accounts.map((a) => ({ address: a.address, signer: isSignerRole(a.role), writable: isWritableRole(a.role) })), accounts);
  });
}

test('accounts have the sizes, the discriminators and the offsets of the program', () => {
  const { cases } = read('..', 'idl', 'vectors', 'layouts.json');
  const missing = [];
  for (const { account, discriminator, size, offsets } of cases) {
    const decoder = program[`get${account}Decoder`]?.();
    if (!decoder) {
      missing.push(account);
      continue;
    }
    assert.equal(decoder.fixedSize, size, account);
    assert.equal(hex(program[`get${account}DiscriminatorBytes`]()), discriminator, account);
    const empty = plain(decoder.decode(new Uint8Array(size)));
    for (const [field, at] of Object.entries(offsets)) {
      const data = new Uint8Array(size);
      data[at] = 1;
      const decoded = plain(decoder.decode(data));
      assert.deepEqual(Object.keys(decoded).filter((name) => JSON.stringify(decoded[name]) !== JSON.stringify(empty[name])), [camel(field)], `${account}.${field}`);
    }
  }
  assert.deepEqual(missing, ['DeviceClaim']); // the description has no account of this kind
});

test('addresses are those of the program', async () => {
  const { cases } = read('..', 'idl', 'vectors', 'pdas.json');
  // The owner of a vault of stake is a provider or a keeper. The description derives no other addresses of the vectors.
  const finds = {
    market: program.findMarketPda, fee_vault: program.findFeeVaultPda, provider: program.findProviderPda, node: program.findNodePda, keeper: program.findKeeperPda,
    stake_vault: ({ owner }) => program.findStakeVaultPda({ provider: owner }), credits: program.findCreditsPda, credits_vault: program.findCreditsVaultPda,
    auction: program.findAuctionPda, lease: program.findLeasePda, fraud_proof: program.findFraudProofPda, report: program.findReportPda,
  };
  const met = new Set();
  for (const { name, inputs, address: want } of cases) {
    if (!finds[name]) continue;
    const [got] = Object.keys(inputs).length > 0 ? await finds[name](Object.fromEntries(Object.entries(inputs).map(([k, v]) => [camel(k), v]))) : await finds[name]();
    assert.equal(got, want, name);
    met.add(name);
  }
  assert.deepEqual([...met].sort(), Object.keys(finds).sort());
});
