topic life
title Invalidating an observer inside its own callback releases the context at once
observer O entry|exit ctx
source0 S
on O entry: invalidate O; note still-in-callback
add O default; add S default
run default 0.02 no
--- golden
retain O
run default
observer O entry mode=default
release O
note still-in-callback
ran default TIMEDOUT
end
