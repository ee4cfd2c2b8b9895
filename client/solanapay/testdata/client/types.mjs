// Compares answers with types of the specification's package, as tsc --strict does with a literal: also a field that the type does not know
// is an error.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const file = join(dirname(fileURLToPath(import.meta.url)), 'answer.ts');

// check takes pairs of a type's name and an answer.
export function check(answers) {
  const text = `import type * as spec from '@solana/actions-spec';\n${answers.map(([type, a], n) => `export const answer${n}: spec.${type} = ${JSON.stringify(a)};\n`).join('')}`;
  const options = { strict: true, noEmit: true, skipLibCheck: true, types: [], module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext };
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile;
  host.getSourceFile = (name, ...more) => (name === file ? ts.createSourceFile(name, text, ts.ScriptTarget.ESNext) : read(name, ...more));
  const exists = host.fileExists;
  host.fileExists = (name) => name === file || exists(name);
  const wrong = ts.getPreEmitDiagnostics(ts.createProgram([file], options, host));
  if (wrong.length > 0) throw new Error(`answers of other types: ${ts.formatDiagnostics(wrong, { ...host, getNewLine: () => '\n' })}${text}`);
}
