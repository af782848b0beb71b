topic observer
title Lower order first, equal order in adding sequence
observer A entry order=5
observer B entry order=-5
observer C entry order=0
observer D entry order=0
source0 S
add A default; add D default; add C default; add B default; add S default
run default 0.02 no
--- golden
run default
observer B entry mode=default
observer D entry mode=default
observer C entry mode=default
observer A entry mode=default
ran default TIMEDOUT
end
