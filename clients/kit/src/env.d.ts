// What the generated code asks for: without NODE_ENV=production, errors have their messages.
declare const process: { env: Record<string, string | undefined> };
