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

/**
 * The packages that a file imports and the manifest of its workspace does not declare, one sentence each. A type may come from
 * a development dependency, because the compiler takes its import away, and so may everything in a private workspace, because
 * nobody installs that one without them.
 */
export function undeclaredImports(path: string, imports: readonly Import[], manifest: Manifest): string[] {
  const { dependencies, peerDependencies, optionalDependencies, devDependencies } = manifest
  const shipped = { [manifest.name]: '', ...dependencies, ...peerDependencies, ...optionalDependencies }
  const development = { ...devDependencies, ...typesOf(peerDependencies), ...typesOf(devDependencies) }
  const faults = imports.flatMap(({ specifier, typeOnly }) => {
    const name = packageOf(specifier)
    if (name === undefined || name in shipped) return []
    if ((typeOnly || manifest.private) && name in development) return []
    return [`${path} imports ${specifier}${typeOnly ? ' (types)' : ''}, which ${manifest.name} does not declare`]
  })
  return [...new Set(faults)]
}

/**
 * The circles among the workspaces, each written as `a -> b -> a`. `turbo run build` builds first whatever a workspace depends
 * on, for its development too.
 */
export function circles(manifests: readonly Manifest[]): string[] {
  const workspaces = new Map(manifests.map((manifest) => [manifest.name, manifest]))
  const done = new Set<string>()
  const follow = (name: string, trail: readonly string[]): string[] => {
    if (trail.includes(name)) return [[...trail.slice(trail.indexOf(name)), name].join(' -> ')]
    if (done.has(name)) return []
    const found = neededBy(workspaces.get(name)).flatMap((needed) =>
      workspaces.has(needed) ? follow(needed, [...trail, name]) : [],
    )
    done.add(name)
    return found
  }
  return [...workspaces.keys()].flatMap((name) => follow(name, []))
}

/** The name of the package that is imported; undefined for a file, and for what Node brings along. */
function packageOf(specifier: string): string | undefined {
  return /^(?!node:|[.#])(@[^/]+\/)?[^/]+/.exec(specifier)?.[0]
}

const neededBy = (manifest: Manifest | undefined): string[] =>
  Object.keys({
    ...manifest?.dependencies,
    ...manifest?.peerDependencies,
    ...manifest?.optionalDependencies,
    ...manifest?.devDependencies,
  })

/** `@types/express` gives the types of `express`. */
function typesOf(packages: Readonly<Record<string, string>> = {}): Record<string, string> {
  const typed = Object.keys(packages).filter((name) => name.startsWith('@types/'))
  return Object.fromEntries(typed.map((name) => [name.slice('@types/'.length), '']))
}
