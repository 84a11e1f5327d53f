import { sabotageSuite } from '../../store-suite/index.js'
import { openInNewDirectory } from './open-in-new-directory.js'

sabotageSuite('the store suite catches an embedded store that', openInNewDirectory)
