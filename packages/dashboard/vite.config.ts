import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// Always the files that are shipped, whatever the environment of a test says.
process.env.NODE_ENV = 'production'

export default defineConfig({
  plugins: [react()],
  build: {
    // The server brings them along.
    outDir: '../../server/dist/dashboard',
    emptyOutDir: true,
    // Beside the pages and the API for sessions, so that no page can have the path of a file.
    assetsDir: 'dashboard/assets',
    // An inlined icon or font would need `data:` in the content security policy.
    assetsInlineLimit: 0,
    // A page whose styles could not be loaded would stay without them, however often it is tried again.
    cssCodeSplit: false,
    // The first browsers with light-dark(), which takes the scheme that the page has chosen.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    rolldownOptions: { output: { minify: true } },
  },
})
