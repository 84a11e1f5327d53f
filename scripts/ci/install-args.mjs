/**
 * The arguments of npm that install packages for one check, in a folder beside the checkout: what a registry has sent once is not
 * asked for again, and no package runs a script.
 * @param {string} folder
 * @param {readonly string[]} packages each with its exact version
 * @returns {string[]}
 */
export function installArgs(folder, packages) {
  const flags = ['--no-save', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel', 'error']
  return ['install', '--prefix', folder, ...flags, ...packages]
}
