topic empty
title A pending block for the mode keeps it from being empty; once run the mode finishes at the next wakeup
slow 2
observer O all
block B
at 40: wake
add O default; perform B default
run default 1 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
block B mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
observer O exit mode=default
ran default FINISHED
end
