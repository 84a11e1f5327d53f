import type { Conversation } from '../bank.js'

/** SMTP: takes a letter for the request that acts. */
export function smtp(): Conversation {
  let text = ''
  let isLetter = false
  return {
    greeting: Buffer.from('220 bank ESMTP\r\n'),
    hear(bytes, reply) {
      text += bytes.toString('latin1')
      for (;;) {
        const end = text.indexOf(isLetter ? '\r\n.\r\n' : '\r\n')
        if (end < 0) return false
        if (isLetter) return true
        isLetter = /^DATA/i.test(text)
        reply(Buffer.from(isLetter ? '354 go ahead\r\n' : '250 bank\r\n'))
        text = text.slice(end + 2)
      }
    },
    answers: () => ({
      cut: Buffer.from('250 2.0'),
      refusal: Buffer.from('550 5.7.1 we do not take this\r\n'),
    }),
  }
}
