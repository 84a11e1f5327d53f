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

/** What the composition root and the command line may take of the stores. The rest of a store is its own. */
const STORES = [
  'server/src/stores/sqlite/backup',
  'server/src/stores/sqlite/data-directory',
  'server/src/stores/sqlite/inspect',
  'server/src/stores/sqlite/open',
  'server/src/stores/sqlite/open-feed',
  'server/src/stores/sqlite/restore',
  'server/src/stores/mongodb/connection/failure',
  'server/src/stores/mongodb/connection/url',
  'server/src/stores/mongodb/inspect',
  'server/src/stores/mongodb/open',
  'server/src/stores/mongodb/open-feed',
  'server/src/stores/mongodb/open-move',
]

/** Who may import whom: docs/architecture.md says it in words. Tests may import what they like. */
export const IMPORT_RULES: readonly ImportRule[] = [
  { area: 'packages/contract', mayImport: ['zod'] },
  { area: 'packages/engine', mayImport: ['@countersign/contract'] },
  { area: 'packages/permit', mayImport: ['@countersign/contract', 'node:crypto', 'jose'] },
  { area: 'packages/audit-log/src/sha256', mayImport: ['packages/audit-log', '@noble/hashes', 'node:crypto'] },
  { area: 'packages/audit-log', mayImport: ['@countersign/contract', '#sha256'] },
  // The build writes it out.
  { area: 'packages/client/src/endpoints', mayImport: ['@countersign/contract/endpoints'] },
  { area: 'packages/client/src/node-transport', mayImport: ['packages/client', 'node:*'] },
  // Only its types: the package is optional.
  { area: 'packages/client/src/tracing', mayImport: ['packages/client', 'type @opentelemetry/api'] },
  { area: 'packages/client', mayImport: ['type @countersign/contract'] },
  { area: 'packages/testkit', mayImport: ['@countersign/contract', 'node:*', '*'] },
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
      'packages/dashboard/src/unsent-notes',
      'packages/dashboard/src/verifier',
      'packages/dashboard/src/unsent-notes',
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
    mayImport: [
      'packages/dashboard/src/session',
      // Plain data, without zod.
      '@countersign/contract/endpoints',
      'type @countersign/contract',
      '@tanstack/react-query',
      'react',
    ],
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

  { area: 'server/src/concurrency', mayImport: ['node:timers'] },
  { area: 'server/src/durable-files', mayImport: ['node:*', 'libsql'] },
  { area: 'server/src/ports/store', mayImport: ['@countersign/contract'] },
  {
    area: 'server/src/ports',
    mayImport: ['@countersign/contract', 'type @countersign/permit'],
  },
  {
    area: 'server/src/stores/sqlite',
    mayImport: [
      'server/src/ports/store',
      'server/src/durable-files',
      '@countersign/contract',
      '@countersign/audit-log',
      'node:*',
      'libsql',
      'zod',
    ],
  },
  {
    area: 'server/src/stores/mongodb',
    mayImport: [
      'server/src/ports/store',
      'server/src/concurrency',
      '@countersign/contract',
      '@countersign/audit-log',
      'node:*',
      'mongodb',
    ],
  },
  {
    // No test of a store is about one of them: the suite holds for all.
    area: 'server/test/store-suite',
    mayImport: ['server/src/ports/store', '@countersign/contract', '@countersign/testkit', 'node:*', '*'],
  },
  {
    area: 'server/src/state',
    mayImport: [
      'server/src/ports',
      'server/src/mutation-writer',
      ...WORDS,
      'server/src/concurrency',
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
      'server/src/state',
      'server/src/mutation-writer',
      ...WORDS,
      // How a model is shown what a reviewer wrote.
      '@countersign/client/text',
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
      'server/src/use-cases',
      ...WORDS,
      'server/src/concurrency',
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
      'server/src/state',
      'server/src/use-cases',
      'server/src/mutation-writer',
      ...WORDS,
      'server/src/concurrency',
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
      'server/src/durable-files',
      'server/src/adapters/system-clock',
      'server/src/adapters/keyring',
      'server/src/concurrency',
      '@countersign/contract',
      '@countersign/permit',
      '@countersign/audit-log',
      'node:*',
      '*',
    ],
  },
  {
    area: 'server/src/mutation-writer',
    mayImport: ['server/src/ports', ...WORDS, '@countersign/contract', '@countersign/audit-log'],
  },
  ...WORDS.map((area) => ({
    area,
    mayImport: [
      'server/src/ports',
      ...WORDS,
      '@countersign/contract',
      '@countersign/engine',
      'node:crypto',
      'node:net',
      'node:zlib',
    ],
  })),
  { area: 'server/src/waits', mayImport: [] },
  {
    area: 'server/src/config',
    mayImport: ['server/src/stores/mongodb/connection/url', ...WORDS, '@countersign/contract', 'node:*', 'zod'],
  },
  {
    area: 'server/src/compose',
    mayImport: [
      '@countersign/contract/operations',
      'server/src/waits',
      'server/src/adapters',
      'server/src/config',
      'server/src/feed',
      'server/src/http',
      'server/src/ports',
      'server/src/mutation-writer',
      'server/src/state',
      'server/src/use-cases',
      'server/src/concurrency',
      ...STORES,
      '@countersign/engine',
      'node:*',
    ],
  },
  {
    area: 'server/src/cli',
    mayImport: [
      'server/src/waits',
      'server/src/adapters',
      'server/src/config',
      'server/src/feed/trees',
      'server/src/feed/webhooks/sender',
      'server/src/feed/webhooks/signature',
      'server/src/ports',
      'server/src/mutation-writer',
      'server/src/start',
      'server/src/state',
      'server/src/use-cases',
      ...WORDS,
      'server/src/concurrency',
      'server/src/durable-files',
      ...STORES,
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
    mayImport: ['server/src/compose', 'server/src/config', 'server/src/concurrency', 'node:*'],
  },
  {
    area: 'server/src/create-countersign',
    mayImport: [
      'server/src/adapters',
      'server/src/compose',
      'server/src/config',
      'server/src/ports/log',
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
