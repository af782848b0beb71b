topic seconds
title A handled source has precedence over the limit
trace callouts
source0 S
add S default; signal S
run default 0 yes
--- golden
run default
source0 S mode=default
ran default HANDLED
end
