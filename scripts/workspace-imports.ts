/** What the workspaces say of each other in their manifests, and what their files really import. */
import type { Import } from './import-rules.js'

export interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/** Its build copies what it imports. */
const WRITTEN_OUT = 'packages/client/src/endpoints.ts'

/**
 * The packages that a file imports and the manifest of its workspace does not declare, one sentence each. A type may come from
 * a development dependency, because the compiler takes its import away. So may everything in a private workspace, because nobody
 * installs that one without them, in one that is bundled, because its files contain them, and in a file that the build writes out.
 */
export function undeclaredImports(path: string, imports: readonly Import[], manifest: Manifest): string[] {
  const { dependencies, peerDependencies, optionalDependencies, devDependencies } = manifest
  const shipped = { [manifest.name]: '', ...dependencies, ...peerDependencies, ...optionalDependencies }
  const development = { ...devDependencies, ...typesOf(peerDependencies), ...typesOf(devDependencies) }
  const isBundled = 'vite' in development
  const faults = imports.flatMap(({ specifier, typeOnly }) => {
    const name = packageOf(specifier)
    if (name === undefined || name in shipped) return []
    if ((typeOnly || manifest.private || isBundled || path === WRITTEN_OUT) && name in development) return []
    return [`${path} imports ${specifier}${typeOnly ? ' (types)' : ''}, which ${manifest.name} does not declare`]
  })
  return [...new Set(faults)]
}

/** The circles in a graph, each written as `a -> b -> a`. An arrow to what is not in the graph counts for nothing. */
export function circles(arrows: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>()
  const follow = (name: string, trail: readonly string[]): string[] => {
    if (trail.includes(name)) return [[...trail.slice(trail.indexOf(name)), name].join(' -> ')]
    const targets = done.has(name) ? [] : (arrows.get(name) ?? [])
    const found = targets.flatMap((target) => follow(target, [...trail, name]))
    done.add(name)
    return found
  }
  return [...arrows.keys()].flatMap((name) => follow(name, []))
}

/** The name of the package that is imported; undefined for a file, and for what Node brings along. */
function packageOf(specifier: string): string | undefined {
  return /^(?!node:|[.#])(@[^/]+\/)?[^/]+/.exec(specifier)?.[0]
}

/** Whatever a workspace depends on, for its development too. */
export function neededBy(manifest: Manifest): string[] {
  const { dependencies, peerDependencies, optionalDependencies, devDependencies } = manifest
  return Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies, ...devDependencies })
}

/** `@types/express` gives the types of `express`. */
function typesOf(packages: Readonly<Record<string, string>> = {}): Record<string, string> {
  const typed = Object.keys(packages).filter((name) => name.startsWith('@types/'))
  return Object.fromEntries(typed.map((name) => [name.slice('@types/'.length), '']))
}
