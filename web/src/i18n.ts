// SPDX-License-Identifier: MIT
// Every text of the page, English and Chinese side by side. {n} and the like are filled in.

export const languages = ['en', 'zh'] as const;
export type Language = (typeof languages)[number];

export const words = {
  // the frame around everything
  product: ['Tocsin', 'Tocsin'],
  switchLanguage: ['中文', 'English'],
  switchLanguageHint: ['切换到中文', 'Switch to English'],
  themeAuto: ['Colours: as the system', '配色：跟随系统'],
  themeLight: ['Colours: light', '配色：浅色'],
  themeDark: ['Colours: dark', '配色：深色'],
  soundOn: ['Sound is on', '声音：开'],
  soundOff: ['Sound is off', '声音：关'],
  footer: ['A durable timer server', '持久可靠的定时服务器'],
  version: ['version {v}', '版本 {v}'],

  // lobby
  lobbyTitle: ['Five in a row', '五子连珠'],
  lobbyLead: [
    'Send a friend the link, or play the machine. The clock is kept by the server: to the millisecond, and through every restart.',
    '把链接发给朋友，或与电脑对弈。时钟由服务器掌管：精确到毫秒，重启也不会丢。',
  ],
  newGame: ['New game', '新对局'],
  opponent: ['Opponent', '对手'],
  friend: ['A friend', '朋友'],
  machine: ['The machine', '电脑'],
  rules: ['Rules', '规则'],
  standard: ['Standard', '无禁手'],
  renju: ['Renju', '连珠禁手'],
  standardHint: ['Five or more in a row win.', '五子或更多连成一线即胜。'],
  renjuHint: [
    'Black may not make double threes, double fours or six in a row.',
    '黑棋不得走三三、四四、长连禁手。',
  ],
  clockKind: ['Clock', '计时'],
  clockTime: ['Time', '用时'],
  clockTurn: ['Per move', '每步'],
  clockFischer: ['Fischer', '加秒'],
  clockBronstein: ['Bronstein', '返秒'],
  clockDelay: ['Delay', '延时'],
  clockByoyomi: ['Byo-yomi', '读秒'],
  clockTurnHint: ['So much for every move.', '每一步都有这么多时间。'],
  clockFischerHint: ['So much for the game, and some more with every move.', '全局用时，每走一步再加几秒。'],
  clockByoyomiHint: [
    'So much for the game, then periods: a move within one does not use it up.',
    '全局用时，之后读秒：在一次读秒内落子，该次不消耗。',
  ],
  aMove: ['{t} a move', '每步 {t}'],
  periodsLeft: ['{n} × {t}', '剩 {n} × {t}'],
  periodsOnly: ['{n} periods left', '剩 {n} 次读秒'],
  delayLeft: ['runs in {n} s', '{n} 秒后开始走'],
  seconds: ['{n} s', '{n} 秒'],
  minutes: ['{n} min', '{n} 分'],
  hours: ['{n} h', '{n} 小时'],
  days: ['{n} d', '{n} 天'],
  create: ['Start', '开始'],
  creating: ['One moment…', '请稍候…'],
  openRooms: ['Games', '对局'],
  noRooms: ['Nobody is playing yet. Start the first game.', '还没有人在下棋，来开第一局吧。'],
  loading: ['Loading…', '加载中…'],
  moreRooms: ['Show more', '显示更多'],
  groupWaiting: ['Waiting for a player', '等待棋手'],
  groupFull: ['Waiting for players to be ready', '等待棋手准备'],
  groupPlaying: ['Being played', '正在对局'],
  groupEnded: ['Finished games', '已结束的对局'],
  join: ['Join', '加入'],
  backToGame: ['Back to the game', '回到对局'],
  watch: ['Watch', '观战'],
  look: ['Look', '查看'],
  watchers: ['{n} watching', '{n} 人观战'],
  versusFriend: ['Two players', '双人'],
  versusMachine: ['Against the machine', '人机'],
  cannotReach: ['The server cannot be reached. Trying again.', '连不上服务器，正在重试。'],
  cannotCreate: ['That did not work: {why}', '没有成功：{why}'],
  notHere: ['This server does not offer games yet.', '这台服务器还没有开放对局。'],

  // room
  room: ['Game {id}', '对局 {id}'],
  back: ['All games', '所有对局'],
  black: ['Black', '黑棋'],
  white: ['White', '白棋'],
  you: ['You', '你'],
  ai: ['Machine', '电脑'],
  emptySeat: ['Free', '空位'],
  player: ['Player', '棋手'],
  opponentName: ['Rival', '对手'],
  ready: ['Ready', '准备'],
  isReady: ['ready', '已准备'],
  notReady: ['not ready', '未准备'],
  away: ['offline', '已掉线'],
  thinking: ['thinking', '思考中'],
  watching: ['You are watching', '你正在观战'],
  wins: ['{n} won', '胜 {n} 局'],
  draws: ['{n} drawn', '和 {n} 局'],
  seriesLabel: ['Games won in this room', '本房间胜局'],
  share: ['Send this link to a friend', '把这个链接发给朋友'],
  copy: ['Copy', '复制'],
  copyLink: ['Copy link', '复制链接'],
  copied: ['Copied', '已复制'],
  resign: ['Resign', '认输'],
  resignSure: ['Resign this game?', '确定认输？'],
  yes: ['Yes, resign', '认输'],
  no: ['Play on', '继续下'],
  rematch: ['Play again', '再来一局'],
  askNew: ['New game', '重新开局'],
  startOver: ['Start over', '重新开局'],
  startOverSure: ['Start over? This game will count for nothing.', '重新开局？本局作废。'],
  startOverYes: ['Yes, start over', '重新开局'],
  agree: ['Agree to a new game', '同意重新开局'],
  youAsk: ['You asked for a new game.', '你已请求重新开局。'],
  blackAsks: ['Black asks for a new game.', '黑棋请求重新开局。'],
  whiteAsks: ['White asks for a new game.', '白棋请求重新开局。'],
  takeBackSeat: ['Play here', '在这里下'],
  move: ['Move {n}', '第 {n} 手'],
  loadingRoom: ['Entering the room…', '正在进入房间…'],
  noRoom: ['There is no such game', '没有这个对局'],
  noRoomMore: [
    'The link may be mistyped, or the game was cleared away because nobody came back to it.',
    '链接可能有误，或者对局久无人来，已被清理。',
  ],
  toLobby: ['To all games', '返回大厅'],

  // what is going on
  waitOther: ['Waiting for the other player', '等待另一位棋手'],
  waitReady: ['Ready when you are', '准备好就开始'],
  waitTheirReady: ['Waiting for the other side to be ready', '等待对方准备'],
  waitBack: ['Waiting for the other player to come back', '等待对方回来'],
  waitPlayers: ['Waiting for the players', '等待双方'],
  yourMove: ['Your move', '轮到你了'],
  theirMove: ['Their move', '对方思考中'],
  blackMove: ['Black to move', '轮到黑棋'],
  whiteMove: ['White to move', '轮到白棋'],
  sending: ['Placing…', '落子中…'],
  youWin: ['You won', '你赢了'],
  youLose: ['You lost', '你输了'],
  blackWins: ['Black won', '黑棋胜'],
  whiteWins: ['White won', '白棋胜'],
  draw: ['A draw', '和棋'],
  onTime: ['The time ran out.', '超时判负。'],
  byLine: ['Five in a row.', '五子连线。'],
  byResign: ['By resignation.', '一方认输。'],
  resignOrTime: ['By resignation or on time.', '一方认输或超时。'],
  boardFull: ['The board is full.', '棋盘已满。'],
  putHere: ['Place {at}', '落子 {at}'],
  aimHint: ['Tap again to place', '再点一次落子'],
  kicked: [
    'This seat is now played from another window.',
    '这个座位已在另一个窗口中使用。',
  ],

  // the board, spoken
  boardLabel: [
    'Board, 15 by 15. Arrow keys move the cursor, Enter places a stone.',
    '棋盘，十五路。方向键移动光标，回车落子。',
  ],
  saidEmpty: ['{at}, empty', '{at}，空'],
  saidStone: ['{at}, {who}', '{at}，{who}'],
  saidMove: ['{who} played {at}', '{who}落子 {at}'],
  clockOf: ['Clock of {who}: {t}', '{who}的时钟：{t}'],
  saidSeconds: ['{n} seconds left', '还剩 {n} 秒'],

  // connection
  connecting: ['Connecting…', '连接中…'],
  connected: ['Connected', '已连接'],
  reconnecting: ['Reconnecting in {n} s', '{n} 秒后重连'],
  tryNow: ['Now', '立即'],
  clockGoesOn: ['The server cannot be reached. The clock goes on.', '连不上服务器，时钟仍在走。'],
  offline: ['You are offline', '网络已断开'],

  // token
  tokenTitle: ['This server asks for a token', '此服务器需要令牌'],
  tokenText: [
    'Whoever runs it has one for you. It is kept in this browser only.',
    '请向管理员索取。令牌只保存在这个浏览器里。',
  ],
  tokenLabel: ['Token', '令牌'],
  tokenSave: ['Go on', '继续'],
  tokenWrong: ['The server did not take this token.', '服务器不接受这个令牌。'],

  // refusals
  errNotYourTurn: ['It is not your turn.', '还没轮到你。'],
  errOccupied: ['There is a stone already.', '这里已经有棋子了。'],
  errForbidden: ['Renju forbids black this point.', '禁手：黑棋不能下在这里。'],
  errDoubleThree: ['Forbidden: double three.', '禁手：三三。'],
  errDoubleFour: ['Forbidden: double four.', '禁手：四四。'],
  errOverline: ['Forbidden: more than five in a row.', '禁手：长连。'],
  errTimedOut: ['Too late: the time ran out.', '太迟了：已经超时。'],
  errNotOver: ['This game is not over yet.', '这一局还没有结束。'],
  errNotPlaying: ['The game is not under way.', '对局没有在进行。'],
  errOldGame: ['That was for an earlier game.', '这是上一局的操作。'],
  errSeat: ['This is not your seat.', '这不是你的座位。'],
  errNoRoom: ['There is no such game any more.', '这个对局已经不存在了。'],
  errBusy: ['The server is busy. Try again in a moment.', '服务器繁忙，请稍后再试。'],
  errToken: ['The server does not know this token.', '服务器不认识这个令牌。'],
  errOther: ['The server refused: {why}', '服务器拒绝：{why}'],
} as const satisfies Record<string, readonly [string, string]>;

export type Word = keyof typeof words;

// What a code of the server means to a person.
const codes: Record<string, Word> = {
  NOT_YOUR_TURN: 'errNotYourTurn',
  TAKEN: 'errOccupied',
  FORBIDDEN_MOVE: 'errForbidden',
  TIMED_OUT: 'errTimedOut',
  NOT_ENDED: 'errNotOver',
  NOT_WAITING: 'errNotPlaying',
  NOT_PLAYING: 'errNotPlaying',
  STALE_GAME: 'errOldGame',
  BAD_SEAT: 'errSeat',
  FORBIDDEN: 'kicked',
  NOT_FOUND: 'errNoRoom',
  RATE_LIMITED: 'errBusy',
  OVERLOADED: 'errBusy',
  UNAVAILABLE: 'errBusy',
  UNAUTHORIZED: 'errToken',
};

export function fill(pattern: string, values: Record<string, string | number>): string {
  return pattern.replace(/\{(\w+)\}/g, (whole, name: string) => (name in values ? String(values[name]) : whole));
}

export function say(language: Language, word: Word, values: Record<string, string | number> = {}): string {
  return fill(words[word][languages.indexOf(language)] ?? words[word][0], values);
}

// Which move is forbidden stands at the head of the detail: "double-three: two threes at once ...".
const fouls: Record<string, Word> = {
  'double-three': 'errDoubleThree',
  'double-four': 'errDoubleFour',
  overline: 'errOverline',
};

export function sayRefusal(language: Language, code: string, detail: string): string {
  const foul = code === 'FORBIDDEN_MOVE' ? fouls[detail.split(':', 1)[0] ?? ''] : undefined;
  const word = foul ?? codes[code];
  return word ? say(language, word) : say(language, 'errOther', { why: detail || code || '?' });
}

export function pickLanguage(stored: string | null, wished: string): Language {
  if (stored === 'en' || stored === 'zh') return stored;
  return wished.toLowerCase().startsWith('zh') ? 'zh' : 'en';
}
