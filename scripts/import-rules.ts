import { posix } from 'node:path'
import ts from 'typescript'

/**
 * What the files of an area may import. An area is a folder below the root, or one file of `server/src` (without its
 * ending); `*` stands for one name. What may be imported is named as an area, as a package (with all its subpaths), as
 * `node:…`, or as `*`: any package that is not of this repository; `type` before it: by `import type` only. An area may
 * always import itself. The first rule that fits a file counts.
 */
export interface ImportRule {
  readonly area: string
  readonly mayImport: readonly string[]
}

const WORDS = [
  'server/src/api-key-text',
  'server/src/caller',
  'server/src/domain-error',
  'server/src/typeid',
  'server/src/webhook-secret',
  'server/src/webhook-url',
]

/** Who may import whom: docs/architecture.md says it in words. Tests may import what they like. */
export const IMPORT_RULES: readonly ImportRule[] = [
  { area: 'packages/contract', mayImport: ['zod'] },
  { area: 'packages/engine', mayImport: ['@countersign/contract'] },
  {
    area: 'packages/permit/src/signer',
    mayImport: ['packages/permit', '@countersign/contract', 'node:crypto', 'node:worker_threads'],
  },
  { area: 'packages/permit', mayImport: ['@countersign/contract', 'node:crypto', 'jose'] },
  { area: 'packages/audit-log/src/sha256', mayImport: ['packages/audit-log', '@noble/hashes', 'node:crypto'] },
  { area: 'packages/audit-log', mayImport: ['@countersign/contract', '#sha256'] },
  { area: 'packages/client/src/node-transport', mayImport: ['packages/client', 'node:*'] },
  { area: 'packages/client/src/node-run-context', mayImport: ['packages/client', 'node:async_hooks'] },
  { area: 'packages/client', mayImport: ['type @countersign/contract'] },
  { area: 'packages/concurrency', mayImport: ['node:timers'] },
  { area: 'packages/durable-files', mayImport: ['node:*', 'libsql'] },
  { area: 'packages/store-port', mayImport: ['@countersign/contract'] },
  {
    area: 'packages/store-sqlite',
    mayImport: [
      '@countersign/contract',
      '@countersign/audit-log',
      '@countersign/durable-files',
      '@countersign/store-port',
      'node:*',
      'libsql',
      'zod',
    ],
  },
  {
    area: 'packages/store-mongodb',
    mayImport: [
      '@countersign/contract',
      '@countersign/audit-log',
      '@countersign/concurrency',
      '@countersign/store-port',
      'node:*',
      'mongodb',
    ],
  },
  {
    area: 'packages/testkit',
    mayImport: ['@countersign/contract', '@countersign/store-port', 'node:*', '*'],
  },
  {
    // Loaded when somebody verifies: a page imports it by `import()`.
    area: 'packages/dashboard/src/verifier',
    mayImport: ['@countersign/audit-log', 'type @countersign/contract'],
  },
  {
    area: 'packages/dashboard/src/pages/*',
    mayImport: [
      'packages/dashboard/src/api',
      'packages/dashboard/src/components',
      'packages/dashboard/src/shell',
      'packages/dashboard/src/csp-nonce',
      'packages/dashboard/src/example-policy',
      'packages/dashboard/src/icon.svg',
      'packages/dashboard/src/live',
      'packages/dashboard/src/session',
      'packages/dashboard/src/verifier',
      // The parser of the server, without zod.
      '@countersign/contract/strict-json',
      'type @countersign/contract',
      '*',
    ],
  },
  {
    area: 'packages/dashboard/src/components',
    mayImport: [
      'packages/dashboard/src/api',
      'packages/dashboard/src/csp-nonce',
      'packages/dashboard/src/icon.svg',
      'packages/dashboard/src/live',
      'packages/dashboard/src/session',
      '@countersign/contract/strict-json',
      'type @countersign/contract',
      '*',
    ],
  },
  {
    area: 'packages/dashboard/src/api',
    mayImport: ['packages/dashboard/src/session', 'type @countersign/contract', '@tanstack/react-query', 'react'],
  },
  { area: 'packages/dashboard', mayImport: ['type @countersign/contract', '*'] },
  { area: 'integrations/express', mayImport: ['@countersign/client', '@countersign/permit', 'node:*', '*'] },
  {
    area: 'integrations/mcp',
    mayImport: ['@countersign/client', 'node:*', 'canonicalize', 'commander', 'eventsource-parser', 'zod'],
  },
  { area: 'integrations/*', mayImport: ['@countersign/client', 'node:*', '*'] },
  {
    area: 'examples/*',
    mayImport: [
      'examples/decision-point',
      '@countersign/client',
      '@countersign/express',
      '@countersign/langchain',
      '@countersign/mcp',
      '@countersign/permit',
      '@countersign/contract',
      '@countersign/testkit/file-checkpoint-saver',
      'node:*',
      '*',
    ],
  },

  {
    area: 'server/src/ports',
    mayImport: ['@countersign/contract', '@countersign/store-port', 'type @countersign/permit'],
  },
  {
    area: 'server/src/state',
    mayImport: [
      'server/src/ports',
      '@countersign/store-port',
      'server/src/mutation-writer',
      ...WORDS,
      '@countersign/concurrency',
      '@countersign/contract',
      '@countersign/engine',
      'node:crypto',
      'node:timers',
    ],
  },
  {
    area: 'server/src/use-cases',
    mayImport: [
      'server/src/ports',
      '@countersign/store-port',
      'server/src/state',
      'server/src/mutation-writer',
      ...WORDS,
      '@countersign/contract',
      '@countersign/engine',
      '@countersign/permit',
      '@countersign/audit-log',
      'node:crypto',
      'node:perf_hooks',
    ],
  },
  {
    area: 'server/src/feed',
    mayImport: [
      'server/src/ports',
      '@countersign/store-port',
      'server/src/use-cases',
      ...WORDS,
      '@countersign/concurrency',
      '@countersign/contract',
      '@countersign/engine',
      '@countersign/audit-log',
      'node:*',
    ],
  },
  {
    area: 'server/src/http',
    mayImport: [
      'server/src/ports',
      '@countersign/store-port',
      'server/src/state',
      'server/src/use-cases',
      'server/src/mutation-writer',
      ...WORDS,
      '@countersign/concurrency',
      '@countersign/contract',
      '@countersign/permit',
      'node:*',
      '*',
    ],
  },
  {
    area: 'server/src/adapters/*',
    mayImport: [
      'server/src/ports',
      ...WORDS,
      '@countersign/store-port',
      '@countersign/durable-files',
      'server/src/adapters/system-clock',
      '@countersign/concurrency',
      '@countersign/contract',
      '@countersign/permit',
      '@countersign/audit-log',
      'node:*',
      '*',
    ],
  },
  {
    area: 'server/src/mutation-writer',
    mayImport: [
      'server/src/ports',
      '@countersign/store-port',
      ...WORDS,
      '@countersign/contract',
      '@countersign/audit-log',
    ],
  },
  ...WORDS.map((area) => ({
    area,
    mayImport: [
      'server/src/ports',
      '@countersign/store-port',
      ...WORDS,
      '@countersign/contract',
      '@countersign/engine',
      'node:crypto',
      'node:net',
      'node:zlib',
    ],
  })),
  {
    area: 'server/src/config',
    mayImport: ['@countersign/store-mongodb', ...WORDS, '@countersign/contract', 'node:*', 'zod'],
  },
  {
    area: 'server/src/compose',
    mayImport: [
      'server/src/adapters',
      'server/src/config',
      'server/src/feed',
      'server/src/http',
      'server/src/ports',
      '@countersign/store-port',
      'server/src/mutation-writer',
      'server/src/state',
      'server/src/use-cases',
      '@countersign/concurrency',
      '@countersign/store-sqlite',
      '@countersign/store-mongodb',
      '@countersign/engine',
      'node:*',
    ],
  },
  {
    area: 'server/src/cli',
    mayImport: [
      'server/src/adapters',
      'server/src/config',
      'server/src/feed/webhooks/sender',
      'server/src/feed/webhooks/signature',
      'server/src/ports',
      '@countersign/store-port',
      'server/src/mutation-writer',
      'server/src/start',
      'server/src/state',
      'server/src/use-cases',
      ...WORDS,
      '@countersign/concurrency',
      '@countersign/durable-files',
      '@countersign/store-sqlite',
      '@countersign/store-mongodb',
      '@countersign/audit-log',
      '@countersign/client',
      '@countersign/contract',
      '@countersign/permit',
      'node:*',
      '*',
    ],
  },
  {
    area: 'server/src/start',
    mayImport: ['server/src/compose', 'server/src/config', '@countersign/concurrency', 'node:*'],
  },
  {
    area: 'server/src/create-countersign',
    mayImport: [
      'server/src/adapters',
      'server/src/compose',
      'server/src/config',
      'server/src/ports',
      'server/src/start',
      'node:timers',
    ],
  },
  { area: 'server/src/index', mayImport: ['server/src/config', 'server/src/create-countersign', 'server/src/start'] },
]

export interface SourceFile {
  /** Below the root, with forward slashes. */
  readonly path: string
  readonly text: string
}

/** The imports that no rule allows, and the files that no rule fits, one sentence each. */
export function importFaults(files: readonly SourceFile[], rules: readonly ImportRule[]): string[] {
  return files.flatMap(({ path, text }) => {
    const rule = rules.find(({ area }) => isInArea(path, area))
    if (!rule) return [`${path} is in no area of the import rules`]
    return importsOf(path, text)
      .filter(({ target, typeOnly }) => !isAllowed(path, target, typeOnly, rule))
      .map(({ target, typeOnly }) => `${path} must not import ${target}${typeOnly ? ' (types)' : ''}`)
  })
}

export interface Import {
  /** As the file says it. */
  readonly specifier: string
  /** A path below the root, or the name that a package is imported by. */
  readonly target: string
  readonly typeOnly: boolean
}

const PARSING = { languageVersion: ts.ScriptTarget.Latest, jsDocParsingMode: ts.JSDocParsingMode.ParseNone }

/** What a file imports, by whatever means the compiler sees. */
export function importsOf(path: string, text: string): Import[] {
  const imports: Import[] = []
  const add = (specifier: ts.Node | undefined, typeOnly: boolean) => {
    if (specifier && ts.isStringLiteralLike(specifier))
      imports.push({ specifier: specifier.text, target: targetOf(path, specifier.text), typeOnly })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, node.importClause?.isTypeOnly ?? false)
    if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, node.isTypeOnly)
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node.argument.literal, true)
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) add(node.arguments[0], false)
    if (node.kind === ts.SyntaxKind.SourceFile || holdsCalls) ts.forEachChild(node, visit)
  }
  // Only these stand below other code, and few files have one.
  const holdsCalls = /\bimport\s*\(/.test(text)
  visit(ts.createSourceFile(path, text, PARSING))
  return imports
}

function targetOf(path: string, specifier: string): string {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(path), specifier)
  if (specifier.startsWith('#server/')) return specifier.replace('#server/', 'server/src/')
  return specifier
}

function isAllowed(path: string, target: string, typeOnly: boolean, rule: ImportRule): boolean {
  const own = ownArea(path, rule.area)
  if (isInArea(target, own)) return true
  return rule.mayImport.some((entry) => {
    const [name, needsType] = entry.startsWith('type ') ? [entry.slice('type '.length), true] : [entry, false]
    return (typeOnly || !needsType) && names(target, name)
  })
}

function names(target: string, name: string): boolean {
  if (name === '*') return !/^(@countersign\/|node:|packages\/|integrations\/|examples\/|server\/|\.)/.test(target)
  if (name === 'node:*') return target.startsWith('node:')
  return isInArea(target, name)
}

/** The area with each `*` of the rule filled in from the path: a rule for `integrations/*` keeps them apart. */
function ownArea(path: string, area: string): string {
  return path
    .split('/')
    .slice(0, area.split('/').length)
    .join('/')
    .replace(/\.\w+$/, '')
}

function isInArea(path: string, area: string): boolean {
  const names = path.replace(/\.[cm]?[jt]sx?$/, '').split('/')
  return area.split('/').every((name, index) => name === '*' || name === names[index])
}
