/**
 * Bundles the command `countersign`: what the server has in hundreds of modules becomes a few files in `server/dist/command`. Finding and
 * reading each module is most of what a start takes its time for. The packages of others stay where npm installed them.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { rolldown } from 'rolldown'

/** Below the folder of the server, as deep as the modules that find files beside them. */
export const BUNDLE = 'dist/command'

/** @param {string} server its folder, in which everything else is built */
export async function bundleCommand(server) {
  const dir = join(server, BUNDLE)
  const bundle = await rolldown({
    input: { main: join(server, 'dist/cli/main.js') },
    platform: 'node',
    external: (id) => !isOurs(id),
    plugins: [programsByUrl],
  })
  const { output } = await bundle.write({ dir, format: 'esm', chunkFileNames: '[name].js' })
  await bundle.close()
  // The rest is written in place: a server may run from it.
  const written = new Set(output.map(({ fileName }) => fileName))
  for (const name of readdirSync(dir)) if (!written.has(name)) rmSync(join(dir, name))
  const imports = output.flatMap((chunk) => (chunk.type === 'chunk' ? [...chunk.imports, ...chunk.dynamicImports] : []))
  assertDependencies(
    server,
    imports.filter((id) => !written.has(id)),
  )
}

/** @param {string} id what an import names */
const isOurs = (id) => /^([.#]|@countersign\/)/.test(id) || isAbsolute(id)

/** A module that starts a thread or a process names its program by `new URL('./program.js', import.meta.url)`: it is bundled, too. */
const programsByUrl = /** @satisfies {import('rolldown').Plugin} */ ({
  name: 'programs-by-url',
  transform(code, id) {
    return code.replaceAll(/new URL\((['"])(\.\/[\w./-]+\.js)\1, import\.meta\.url\)/g, (_, _quote, path) => {
      const file = this.emitFile({ type: 'chunk', id: resolve(dirname(id), path) })
      return `new URL(import.meta.ROLLUP_FILE_URL_${file})`
    })
  },
})

/**
 * What is bundled asks for packages in the name of the server. npm finds others by chance.
 * @param {string} server
 * @param {string[]} imports
 */
function assertDependencies(server, imports) {
  const { dependencies } = JSON.parse(readFileSync(join(server, 'package.json'), 'utf8'))
  for (const id of new Set(imports)) {
    const [name = id] = /^(@[^/]+\/)?[^/]+/.exec(id) ?? []
    if (id.startsWith('node:') || name in dependencies) continue
    throw new Error(`The command countersign imports "${id}", which is no dependency in server/package.json.`)
  }
}
