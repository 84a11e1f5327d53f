/** Takes the lock of the file that it is told, says so, and keeps it until it is killed. */
import { takeFileLock } from '#server/durable-files/file-lock'

process.stdout.write(takeFileLock(process.argv[2]) === null ? 'refused\n' : 'held\n')
setInterval(() => {}, 60_000)
