import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** A change of the built engine that a careless hand could make. */
export interface Mutant {
  readonly name: string
  readonly package: 'engine' | 'contract'
  /** A file of the package's build, and the text in it to replace. */
  readonly file: string
  readonly find: string
  readonly replace: string
}
type Engine = typeof import('@countersign/engine')

const PACKAGES = fileURLToPath(new URL('../../', import.meta.url))
const contractRequire = createRequire(join(PACKAGES, 'contract', 'package.json'))
const ZOD = dirname(contractRequire.resolve('zod/package.json'))

/**
 * Copies the built engine and what it builds upon into a folder of its own, applies the mutant's change, and imports the
 * copy. Throws when the text to replace is not there exactly once.
 */
export async function importMutant(folder: string, mutant: Mutant | null): Promise<Engine> {
  const root = join(folder, (mutant?.name ?? 'unchanged').replaceAll(/[^a-z0-9]+/gi, '-'))
  const modules = join(root, 'node_modules')
  for (const name of ['engine', 'contract']) copyPackage(name, join(modules, '@countersign', name))
  symlinkSync(ZOD, join(modules, 'zod'))
  if (mutant !== null) applyMutant(join(modules, '@countersign', mutant.package, 'dist', mutant.file), mutant)
  return (await import(pathToFileURL(join(modules, '@countersign', 'engine', 'dist', 'index.js')).href)) as Engine
}

function copyPackage(name: string, target: string): void {
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  cpSync(join(PACKAGES, name, 'package.json'), join(target, 'package.json'))
  cpSync(join(PACKAGES, name, 'dist'), join(target, 'dist'), {
    recursive: true,
    filter: (path) => !/\.(map|d\.ts|tsbuildinfo)$/.test(path),
  })
}

function applyMutant(path: string, { name, find, replace }: Mutant): void {
  const parts = readFileSync(path, 'utf8').split(find)
  if (parts.length !== 2) throw new Error(`${name}: its text stands ${parts.length - 1} times in ${path}, not once`)
  writeFileSync(path, parts.join(replace))
}
