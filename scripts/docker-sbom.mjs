/**
 * Writes what the image contains into `sbom.cdx.json` (CycloneDX) of a folder that scripts/docker-build.sh has filled:
 * node scripts/docker-sbom.mjs <folder>
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [folder = ''] = process.argv.slice(2)
const packages = readdirSync(join(folder, 'packages')).map((name) => join('packages', name))
const { version } = JSON.parse(readFileSync(join(folder, 'server', 'package.json'), 'utf8'))
// npm takes what only the build needs for missing, and names the root only by a version.
for (const path of ['.', 'server', ...packages]) {
  const file = join(folder, path, 'package.json')
  const { devDependencies: _, ...manifest } = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, `${JSON.stringify(path === '.' ? { ...manifest, version } : manifest, null, 2)}\n`)
}
const args = ['sbom', '--sbom-format=cyclonedx', '--omit=dev', '--workspace=@countersign/server']
writeFileSync(join(folder, 'sbom.cdx.json'), execFileSync('npm', args, { cwd: folder }))
