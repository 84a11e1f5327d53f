import { openInNewDirectory } from './open-sqlite-store.js'
import { sabotageSuite } from './store-sabotages.js'

sabotageSuite('the store suite catches an embedded store that', openInNewDirectory)
